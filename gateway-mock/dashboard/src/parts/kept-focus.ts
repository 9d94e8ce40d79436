/** Where the focus goes when the element that has it goes. Of pages whose buttons come and go with what is shown. */
import { useEffect } from "preact/hooks";

interface ElementRef {
  readonly current: HTMLElement | null;
}

/**
 * Where a button that has the focus goes, since what it did cannot be done any more, the focus goes to another element,
 * and not to the page's beginning.
 */
export function useKeptFocus(within: ElementRef, next: ElementRef): void {
  useEffect(() => {
    const element = within.current;
    if (!element) return;
    let last: HTMLElement | null = null;
    const onFocusIn = ({ target }: FocusEvent): void => {
      last = target instanceof HTMLElement ? target : null;
    };
    const onFocusOut = ({ target }: FocusEvent): void => {
      // Browsers differ in whether one that goes loses the focus first. One that is disabled may go.
      setTimeout(() => {
        const isThere = target instanceof HTMLElement && target.isConnected && !target.matches(":disabled");
        if (isThere && target === last) last = null;
      });
    };
    const observer = new MutationObserver(() => {
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (last === null || last.isConnected || !isLost) return;
      last = null;
      next.current?.focus({ preventScroll: true });
    });
    element.addEventListener("focusin", onFocusIn);
    element.addEventListener("focusout", onFocusOut);
    observer.observe(element, { childList: true, subtree: true });
    return () => {
      element.removeEventListener("focusin", onFocusIn);
      element.removeEventListener("focusout", onFocusOut);
      observer.disconnect();
    };
  }, []);
}
