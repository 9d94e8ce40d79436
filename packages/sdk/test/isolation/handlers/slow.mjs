await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
// A timer that does not keep the thread alive: the turn that loads this does.
setInterval(() => {}, 1_000);
export const any = () => {};
