export interface ViewProps {
  /** What stands in the address for each `:name`. */
  readonly params: Readonly<Record<string, string>>;
}
