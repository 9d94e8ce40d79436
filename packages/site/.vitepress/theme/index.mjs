/** The look of the site: the generator's own, with room for tables and code. */
import theme from "vitepress/theme";
import "./style.css";

// The generator asks for a default export.
// biome-ignore lint/style/noDefaultExport: see above
export default theme;
