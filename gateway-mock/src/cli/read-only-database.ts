/** What a command says of a database that takes no writes, in the words of `doctor`: which statement met it says nothing. */
import { HoldfastError, messageOf } from "@holdfast/core";

/** SQLSTATE of a statement that writes, on a standby or over a connection that is read-only. */
const READ_ONLY = "25006";

/** Null: it is another failure. */
export function inWordsOfDoctor(error: unknown): HoldfastError | null {
  if (!HoldfastError.is(error) || !messageOf(error).includes(`(${READ_ONLY})`)) return null;
  return new HoldfastError(
    error.code,
    'The database takes no writes: the server is a standby, or this user\'s connections are read-only. Name the primary in the database URL, or set default_transaction_read_only = off for this user and database; "holdfast-gateway doctor" says which it is.',
    { cause: error },
  );
}
