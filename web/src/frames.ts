// What the server sends of the map: the length of a JSON text, the text, then numbers.

export interface Frame<Head> {
  head: Head;
  numbers: ArrayBuffer;
}

export async function fetchFrame<Head>(address: string): Promise<Frame<Head>> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(await told(answer));
  const bytes = await answer.arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(bytes, 4, length));
  return { head: JSON.parse(text) as Head, numbers: bytes.slice(4 + length) };
}

/** What an answer that is an error says. */
export async function told(answer: Response): Promise<string> {
  try {
    return ((await answer.json()) as { detail: string }).detail;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}
