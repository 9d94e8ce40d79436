/** A message of a stream of Server-Sent Events, taken apart. Pure. */
export function readPiece(piece: string): { event: string; id: string | null; data: string } {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of piece.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return { event, id, data: data.join("\n") };
}
