export const text = "no function";
export const hello = () => "hello";
export const waiting = ({ step }) =>
  step.run("wait", () => new Promise((resolve) => setTimeout(resolve, 300, "waited")));
