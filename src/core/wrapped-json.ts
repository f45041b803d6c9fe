import { type LenientJson, LenientJsonError, readLenientJson } from './lenient-json.ts'

/** A text may be JSON inside a text inside a text. */
const mostLayers = 3

/**
 * Reads JSON out of what models put around it: a code fence, CDATA, the name of a function, another layer of quotes, or
 * the entities of HTML. Each is taken away only where all of it is there, so that nothing of the JSON goes with it.
 */
export function readWrappedJson(text: string, layers = mostLayers): LenientJson {
  const bare = withoutFrame(text)
  const decoded = withoutEntities(bare) ?? withoutEscapes(bare)
  if (decoded !== undefined) return readInner(decoded, layers)
  const read = readLenientJson(bare)
  return typeof read.value === 'string' && /^\s*[{["']/.test(read.value) ? readInner(read.value, layers) : read
}

function readInner(text: string, layers: number): LenientJson {
  if (layers === 0) throw new LenientJsonError(`there are more than ${mostLayers} layers of text around it`)
  try {
    return readWrappedJson(text, layers - 1)
  } catch (error) {
    throw error instanceof LenientJsonError ? new LenientJsonError(`in the text inside, ${error.message}`) : error
  }
}

const frames: readonly { readonly open: RegExp; readonly ends: readonly string[] }[] = [
  // The end of a fence may be missing: the object inside tells where it ends itself.
  { open: /^\s*```[a-z\d]*/i, ends: ['```', ''] },
  { open: /^\s*<!\[CDATA\[/, ends: [']]>'] },
  { open: /^\s*[\p{L}_$][\p{L}\p{N}_$.]*\((?=\s*\{)/u, ends: [')', ');', ') ;'] },
]

/** Spaces take the place of what is taken away: the positions in messages are those of the given text. */
function withoutFrame(text: string): string {
  let bare = text.trimEnd()
  for (const { open, ends } of frames) {
    const head = open.exec(bare)?.[0].length
    const end = ends.find((one) => bare.endsWith(one))
    if (head === undefined || end === undefined || bare.length - end.length < head) continue
    bare = ' '.repeat(head) + bare.slice(head, bare.length - end.length).trimEnd()
  }
  return bare
}

const entities: Readonly<Record<string, string>> = {
  ...{ quot: '"', '#34': '"', '#x22': '"', apos: "'", '#39': "'", '#x27': "'" },
  ...{ lt: '<', gt: '>', amp: '&' },
}
const entity = /&(quot|apos|lt|gt|amp|#34|#39|#x22|#x27);/gi

/** A text of which every quote, bracket and ampersand is an entity; `undefined` for any other. */
function withoutEntities(text: string): string | undefined {
  if (!/^\s*\{\s*&(?:quot|#34|#x22);/i.test(text) || /["<>&]/.test(text.replace(entity, ''))) return undefined
  return text.replace(entity, (_, name: string) => entities[name.toLowerCase()]!)
}

/** The inside of a JSON string, `{\"a\": 1}`; `undefined` for any other text. */
function withoutEscapes(text: string): string | undefined {
  if (!/^\s*\{\s*\\"/.test(text)) return undefined
  try {
    return JSON.parse(`"${text.trim()}"`) as string
  } catch {
    return undefined
  }
}
