import { messageOf } from '../core/errors.ts'
import { cutText } from '../core/text.ts'

/** The fields between the two `---` lines; values are texts, lists and maps of texts, as written. */
interface FrontMatter {
  readonly fields?: ReadonlyMap<string, unknown>
  readonly failure?: string
  readonly repaired?: string
}

/** The size limit; the largest known ones have about three thousand characters. */
export const mostFrontMatter = 16 * 1024

/** Splits a file at the first two `---` lines. The file must begin with the first. */
export function splitFrontMatter(
  text: string,
): { readonly yaml: string; readonly body: string } | { readonly failure: string } {
  const begin = /^\uFEFF?---[ \t]*\r?\n/.exec(text)
  if (!begin) return { failure: 'it does not begin with a line of --- and its front matter; see agentskills.io' }
  const end = /^---[ \t]*\r?$/gm
  end.lastIndex = begin[0].length
  const closing = end.exec(text)
  if (!closing) return { failure: 'its front matter has no end: write a line of --- after it' }
  const yaml = text.slice(begin[0].length, closing.index)
  if (yaml.length > mostFrontMatter)
    return { failure: `its front matter has ${yaml.length} characters, where ${mostFrontMatter} is the limit` }
  return { yaml: yaml.replaceAll('\r\n', '\n'), body: bodyAfter(text, end.lastIndex) }
}

/** Reads YAML without tags and with few aliases. Unquoted values with a colon are repaired. */
export async function readFrontMatter(yaml: string): Promise<FrontMatter> {
  const first = await fieldsOf(yaml)
  if (first.fields) return first
  const quoted = quoteColons(yaml)
  if (quoted === yaml) return first
  const second = await fieldsOf(quoted)
  if (!second.fields) return first
  return { ...second, repaired: 'a value has a colon in it and was read as text; put it in quotes' }
}

/** Reads fields without repairs. */
export async function fieldsOf(yaml: string): Promise<FrontMatter> {
  const fields = plainFields(yaml)
  return fields ? { fields } : parseYaml(yaml)
}

/** Reads fields with the YAML parser. */
export async function parseYaml(yaml: string): Promise<FrontMatter> {
  if (isTooDeep(yaml)) return { failure: 'its front matter cannot be read: too much in it lies within something else' }
  const { isMap, isScalar, parseDocument } = await import('yaml')
  try {
    // In this schema every value is a text: a version of 1.0 stays 1.0. Duplicate keys are checked below, in linear time.
    const document = parseDocument(yaml, {
      schema: 'failsafe',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
    })
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) return { failure: `its front matter cannot be read: ${cutText(problem.message, 200)}` }
    if (document.contents === null) return { fields: new Map() }
    if (!isMap(document.contents)) return { failure: 'its front matter is no list of fields, such as name: my-skill' }
    const seen = new Set<string>()
    for (const { key } of document.contents.items) {
      const name = isScalar(key) && typeof key.value === 'string' ? key.value : undefined
      if (name === undefined) return { failure: 'its front matter has a field whose name is no text' }
      if (seen.has(name)) return { failure: `its front matter has the field ${cutText(name, 200)} twice` }
      seen.add(name)
    }
    return { fields: document.toJS({ mapAsMap: true, maxAliasCount: 10 }) as Map<string, unknown> }
  } catch (error) {
    return { failure: `its front matter cannot be read: ${cutText(messageOf(error), 200)}` }
  }
}

/** Refuses deep nesting, on which the parser takes long before it gives up. */
function isTooDeep(yaml: string): boolean {
  return (yaml.match(/[[{]/g)?.length ?? 0) > 300 || /(?:[?-] ){30}/.test(yaml)
}

/** Quotes plain values with a colon, of top-level fields and of those below `metadata`. */
function quoteColons(yaml: string): string {
  const lines = yaml.split('\n')
  let section = ''
  for (const [i, line] of lines.entries()) {
    const [, indent = '', key = '', value = ''] = /^( *)([\w.-]+):[ \t]+(\S.*)$/.exec(line) ?? []
    section = /^([\w.-]+):/.exec(line)?.[1] ?? section
    const isField = indent === '' || section === 'metadata'
    if (!isField || !/:(?:\s|$)/.test(value) || /^["'|>[{&*!#]/.test(value)) continue
    const last = lastLineOf(lines, i, indent.length)
    lines[i] = `${indent}${key}: '${value.replaceAll("'", "''")}`
    for (let next = i + 1; next <= last; next++) lines[next] = lines[next]!.replaceAll("'", "''")
    lines[last] = `${lines[last]!.trimEnd()}'`
  }
  return lines.join('\n')
}

/** A value continues in lines that are indented more than its key. */
function lastLineOf(lines: readonly string[], start: number, indent: number): number {
  let last = start
  while (/^ +\S/.test(lines[last + 1] ?? '') && lines[last + 1]!.search(/\S/) > indent) last++
  return last
}

function bodyAfter(text: string, end: number): string {
  return text.slice(end).replaceAll('\r\n', '\n').trim()
}

/**
 * The fields of front matter that consists only of `key: words`, as nearly all does, exactly as YAML reads them;
 * undefined if there is anything else. It avoids loading the parser, and most of the time to find many skills.
 */
export function plainFields(yaml: string): Map<string, unknown> | undefined {
  const fields = new Map<string, unknown>()
  let nested: Map<string, unknown> | undefined
  for (const line of yaml.split('\n')) {
    if (line === '') continue
    const [, indent = '', key = '', rest = ''] = fieldLine.exec(line) ?? []
    if (key === '') return undefined
    const target = indent === '' ? fields : nested
    const value = rest === '' ? '' : plainValue(rest)
    if (!target || target.has(key) || value === undefined) return undefined
    if (indent === '') nested = undefined
    if (rest !== '') target.set(key, value)
    else if (indent === '' && key === 'metadata') fields.set(key, (nested = new Map()))
    else return undefined
  }
  const metadata = fields.get('metadata')
  return metadata instanceof Map && metadata.size === 0 ? undefined : fields
}

const fieldLine = /^( {2})?([a-z][a-z0-9-]{0,40}):(?: (.*))?$/

/** Printable ASCII with no other meaning in YAML, quoted or not. */
function plainValue(text: string): string | undefined {
  const value = text.trim()
  const [, double, single] = /^(?:"([^"\\]*)"|'([^']*)')$/.exec(value) ?? []
  if (/[^ -~]/.test(value)) return undefined
  if (double !== undefined || single !== undefined) return double ?? single
  return /^[A-Za-z0-9]/.test(value) && !/: |:$| #/.test(value) ? value : undefined
}
