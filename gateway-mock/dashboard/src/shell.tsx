/** Navigation, the state of the link to the gateway, and the view that the address names. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { environment, mayChange, session } from "./data/api.ts";
import { nowMs } from "./data/clock.ts";
import { LINK_WORDS, linkNotice } from "./data/link.ts";
import { startLive } from "./data/live.ts";
import { path, setQuery } from "./data/router.ts";
import { signOut } from "./data/session.ts";
import { link } from "./data/watch-link.ts";
import { BrandMark } from "./parts/brand.tsx";
import { EnvironmentChoice } from "./parts/environment-choice.tsx";
import { ThemeButton } from "./parts/theme.tsx";
import { PAGES, type Page, pageOf } from "./routes.tsx";

export function Shell(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const nav = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => startLive(), []);
  // The address can be given on as it is.
  useEffect(() => {
    if (environment.value !== "") setQuery({});
  }, []);
  const { page, params } = pageOf(path.value);
  const at = path.value;
  // A new view begins for keyboards and screen readers, too.
  useEffect(() => {
    document.title = page.title === "" ? "Holdfast" : `${page.title} · Holdfast`;
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    // On a narrow window the navigation scrolls.
    showCurrent(nav.current);
  }, [at]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="side">
        <a class="brand" href="/">
          <BrandMark />
          Holdfast
        </a>
        <nav class="nav" aria-label="Pages" ref={nav}>
          <ul>
            {PAGES.filter(isInNavigation).map((one) => (
              <li key={one.href}>
                <a href={one.href} aria-current={one.href === (page.within ?? page.href) ? "page" : undefined}>
                  {one.label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Foot />
      </header>
      <div class="content">
        <LinkNotice />
        <main id="main" ref={main} tabIndex={-1}>
          <page.View key={at} params={params} />
        </main>
      </div>
    </div>
  );
}

const isInNavigation = ({ label, needsFaults }: Page): boolean =>
  label !== undefined && (needsFaults !== true || session.value?.noFaults === null);

/** Not by `scrollIntoView`, which has the next Tab go on behind what it shows, and the link to the content is before that. */
function showCurrent(nav: HTMLElement | null): void {
  const current = nav?.querySelector("[aria-current]");
  if (!nav || !current) return;
  const [all, one] = [nav.getBoundingClientRect(), current.getBoundingClientRect()];
  nav.scrollLeft += one.left + one.width / 2 - (all.left + all.width / 2);
}

/** Seen on every page, at every width and however far it is scrolled. */
function LinkNotice(): JSX.Element | null {
  const text = linkNotice(link.value, nowMs.value);
  if (text === null) return null;
  return (
    <p class="link-notice" data-state={link.value.type} role="alert">
      {text}
    </p>
  );
}

function Foot(): JSX.Element {
  const view = session.value;
  return (
    <div class="side-foot">
      <div class="wide">
        <EnvironmentChoice />
      </div>
      <p class="link-state wide" data-state={link.value.type} role="status">
        {LINK_WORDS[link.value.type]}
      </p>
      {!mayChange() && <p class="wide">Read-only</p>}
      <div class="row">
        <ThemeButton />
        {view?.session && (
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </div>
    </div>
  );
}
