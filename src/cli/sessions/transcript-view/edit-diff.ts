const mostCharacters = 20_000

/** The changes of an edit as lines that begin with `-`, `+` or a blank; `undefined` for other calls. */
export async function editDiff(input: Readonly<Record<string, unknown>>): Promise<string[] | undefined> {
  const edits = Array.isArray(input.edits) ? (input.edits as unknown[]) : [input]
  const pairs = edits.map(pairIn)
  if (pairs.length === 0 || !pairs.every((pair) => pair !== undefined)) return undefined
  const all: string[] = []
  for (const [i, pair] of pairs.entries()) {
    if (i > 0) all.push('@@')
    all.push(...(await changes(pair.before, pair.after)))
  }
  return all
}

interface Pair {
  readonly before: string
  readonly after: string
}

function pairIn(edit: unknown): Pair | undefined {
  if (typeof edit !== 'object' || edit === null) return undefined
  const { old_string: before, new_string: after } = edit as Record<string, unknown>
  return typeof before === 'string' && typeof after === 'string' ? { before, after } : undefined
}

async function changes(before: string, after: string): Promise<string[]> {
  // Long texts take long to compare.
  if (before.length + after.length > mostCharacters) return [...marked('-', before), ...marked('+', after)]
  const { diffLines } = await import('diff')
  const parts = diffLines(before, after, { maxEditLength: 500 })
  if (!parts) return [...marked('-', before), ...marked('+', after)]
  return parts.flatMap(({ added, removed, value }) => marked(added ? '+' : removed ? '-' : ' ', value))
}

const marked = (sign: string, text: string): string[] =>
  text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => sign + line)
