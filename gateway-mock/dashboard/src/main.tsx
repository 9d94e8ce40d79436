import { render } from "preact";
import { App } from "./app.tsx";
import { followLinks } from "./data/router.ts";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/runs.css";
import "./style/run.css";
import "./style/pages.css";
import "./style/faults.css";
import { applyTheme } from "./parts/theme.tsx";
import { neutraliseTexts } from "./parts/visible-text.ts";

neutraliseTexts();
applyTheme();
document.addEventListener("click", followLinks);
const place = document.getElementById("app");
if (place) render(<App />, place);
