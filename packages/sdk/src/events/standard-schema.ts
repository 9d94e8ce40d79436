/**
 * Standard Schema, version 1 (https://standardschema.dev): the interface that valibot, zod, arktype and others share. It
 * is declared here so that what TypeScript infers of an app, and writes into declarations, names this package alone.
 */

/** A schema of any library that follows the standard. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For types alone: there is no such value. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What came of a value: it as the schema gives it back, or what is wrong with it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  /** Where in the value; a part is a key, or an object that has it. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What may be given to a schema. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["input"];
/** What a schema gives back. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** What schemas also have that can say themselves as JSON Schema (Standard JSON Schema, version 1). */
export interface JsonSchemaSource {
  readonly jsonSchema?: {
    /** Throws where the schema cannot be said in this version of JSON Schema. */
    readonly input: (options: { readonly target: string }) => Readonly<Record<string, unknown>>;
  };
}
