/** What blocks use of `@nestjs/common`, which is not installed here: the same shapes. */
export const Injectable = (): ClassDecorator => () => {};
export interface OnApplicationBootstrap {
  onApplicationBootstrap(): unknown;
}
export interface OnApplicationShutdown {
  onApplicationShutdown(signal?: string): unknown;
}
