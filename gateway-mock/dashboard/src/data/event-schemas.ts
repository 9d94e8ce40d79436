/** What apps say of the data of an event, for a form of it. */
import { useEffect, useState } from "preact/hooks";
import { get } from "./api.ts";

interface EventSchemaList {
  readonly schemas: readonly {
    readonly name: string;
    readonly functionIds: readonly string[];
    readonly schema: object;
  }[];
}

/**
 * The JSON schema of the data of an event; of a function, if it says one, before that of any other. Undefined: none is
 * known, or not yet.
 */
export function useEventSchema(name: string, functionId?: string): object | undefined {
  const [found, setFound] = useState<{ readonly name: string; readonly schema: object } | null>(null);
  useEffect(() => {
    let isOver = false;
    if (name === "") return;
    get<EventSchemaList>(`/v1/event-schemas?name=${encodeURIComponent(name)}`).then(
      ({ schemas }) => {
        const own = schemas.find(({ functionIds }) => functionIds.includes(functionId ?? ""));
        const said = own ?? schemas[0];
        if (!isOver) setFound(said === undefined ? null : { name, schema: said.schema });
      },
      // Without it the data is filled in as JSON.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [name, functionId]);
  return found?.name === name ? found.schema : undefined;
}
