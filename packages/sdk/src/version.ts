/** Checked against package.json by a test. */
export const SDK_VERSION = "0.1.0";

/** How this SDK calls itself in headers. */
export const SDK_NAME = `holdfast-js:v${SDK_VERSION}`;
