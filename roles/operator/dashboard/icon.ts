/** The page's sign: a small picture of our own, so that a browser asks for none elsewhere. @module */

/** SVG. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">` +
  `<path fill="#0550ae" d="M1 4h14v2c-3 0-5 1-5 3v1l2 3H4l2-3V9C6 7 4 6 1 6z"/></svg>\n`;
