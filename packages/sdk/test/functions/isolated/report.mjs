export const report = ({ event }) => `plain ${event.data.text}`;
export const text = "no function";
