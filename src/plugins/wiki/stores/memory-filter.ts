import { AgentError } from '../../../core/errors.ts'

/** The wiki that a filter runs on. */
export interface FilterSource {
  /** In the order of their titles. */
  readonly titles: readonly string[]
  field(title: string, name: string): string | undefined
  tags(title: string): readonly string[]
  taggedWith(title: string): readonly string[]
  backlinks(title: string): readonly string[]
}

/**
 * A part of TiddlyWiki's filter language, enough for tests, with the same results as TiddlyWiki. Other operators are
 * refused. See `operators`.
 */
export function runFilter(filter: string, source: FilterSource): string[] {
  let results: string[] = []
  for (const { prefix, operations } of parsed(filter)) {
    const from = prefix === '+' ? results : source.titles
    if (prefix === '~' && results.length > 0) continue
    let found: readonly string[] = from
    for (const operation of operations) found = operators[operation.name]!({ ...operation, from: found, source })
    if (prefix === '+') results = [...new Set(found)]
    else if (prefix === '-') results = results.filter((title) => !found.includes(title))
    // A title that is found again moves to the end, as in TiddlyWiki.
    else results = [...results.filter((title) => !found.includes(title)), ...new Set(found)]
  }
  return results
}

interface Operation {
  readonly name: string
  readonly suffix: string
  readonly operand: string
  readonly isNot: boolean
}

interface Run {
  readonly prefix: string
  readonly operations: readonly Operation[]
}

type Operator = (
  call: Operation & { readonly from: readonly string[]; readonly source: FilterSource },
) => readonly string[]

const operators: Readonly<Record<string, Operator>> = {
  all: ({ operand, source }) => {
    if (operand === 'tiddlers') return source.titles
    return unknown(`[all[${operand}]]`, '[all[tiddlers]]')
  },
  title: ({ operand, isNot, from }) => (isNot ? from.filter((title) => title !== operand) : [operand]),
  field: ({ suffix, operand, isNot, from, source }) =>
    from.filter((title) => ((source.field(title, suffix || 'title') ?? '') === operand) !== isNot),
  tag: ({ operand, isNot, from, source }) => {
    if (from === source.titles && !isNot) return source.taggedWith(operand)
    return from.filter((title) => source.tags(title).includes(operand) !== isNot)
  },
  has: ({ operand, isNot, from, source }) => from.filter((title) => Boolean(source.field(title, operand)) !== isNot),
  is: ({ operand, isNot, from }) => {
    if (operand === 'system') return from.filter((title) => title.startsWith('$:/') !== isNot)
    return unknown(`[is[${operand}]]`, '[is[system]]')
  },
  prefix: ({ operand, isNot, from }) => from.filter((title) => title.startsWith(operand) !== isNot),
  suffix: ({ operand, isNot, from }) => from.filter((title) => title.endsWith(operand) !== isNot),
  search: ({ operand, isNot, from, source }) => {
    const words = operand.toLowerCase().split(/\s+/).filter(Boolean)
    const textOf = (title: string): string =>
      ['title', 'tags', 'text']
        .map((name) => source.field(title, name) ?? '')
        .join('\n')
        .toLowerCase()
    return from.filter((title) => words.every((word) => textOf(title).includes(word)) !== isNot)
  },
  sort: ({ operand, isNot, from, source }) => {
    const key = (title: string): string => (source.field(title, operand || 'title') ?? '').toLowerCase()
    const order = isNot ? -1 : 1
    return [...from].sort((a, b) => order * key(a).localeCompare(key(b)))
  },
  limit: ({ operand, isNot, from }) => {
    const most = Number.parseInt(operand, 10)
    if (!(most >= 0)) return unknown(`[limit[${operand}]]`, '[limit[10]]')
    if (isNot) return from.slice(Math.max(0, from.length - most))
    return from.slice(0, most)
  },
  tagging: ({ from, source }) => [...new Set(from.flatMap((title) => source.taggedWith(title)))],
  backlinks: ({ from, source }) => [...new Set(from.flatMap((title) => source.backlinks(title)))],
}

const takesSuffix = new Set(['field'])

function parsed(filter: string): Run[] {
  const runs: Run[] = []
  let at = 0
  while (at < filter.length) {
    if (/\s/.test(filter[at]!)) {
      at++
      continue
    }
    const [prefix] = /^(?:=>|[+\-~=]|:\w+)?/.exec(filter.slice(at))!
    if (!['', '+', '-', '~'].includes(prefix))
      unknown(`the prefix ${prefix}`, 'runs without a prefix, or with +, - or ~')
    at += prefix.length
    const word = /^(?:"([^"]*)"|'([^']*)'|([^\s[\]]+))/.exec(filter.slice(at))
    if (word) {
      runs.push({ prefix, operations: [titleOf(word[1] ?? word[2] ?? word[3] ?? '')] })
      at += word[0].length
      continue
    }
    const operations: Operation[] = []
    at = readRun(filter, at, operations)
    runs.push({ prefix, operations })
  }
  return runs
}

const titleOf = (operand: string): Operation => ({ name: 'title', suffix: '', operand, isNot: false })

function readRun(filter: string, start: number, operations: Operation[]): number {
  if (filter[start] !== '[') wrong('Missing [ in filter expression', filter)
  let at = start + 1
  do {
    const head = /^(!?)([^[\]{}<>/()]*)([[{</(])/.exec(filter.slice(at))
    if (!head) return wrong('Missing [ in filter expression', filter)
    const [whole, not, spelled = '', bracket] = head
    if (bracket !== '[') unknown(`an operand in ${bracket}`, 'operands in [ ]')
    const end = filter.indexOf(']', at + whole.length)
    if (end === -1) wrong('Missing closing bracket in filter expression', filter)
    const colon = spelled.indexOf(':')
    const suffix = colon === -1 ? '' : spelled.slice(colon + 1)
    const name = (colon === -1 ? spelled || 'title' : spelled.slice(0, colon) || 'field').trim()
    if (!Object.hasOwn(operators, name) || (suffix !== '' && !takesSuffix.has(name)))
      unknown(`the operator ${spelled}`, Object.keys(operators).join(', '))
    operations.push({ name, suffix, operand: filter.slice(at + whole.length, end), isNot: not === '!' })
    at = end + 1
    if (filter[at] === ',') unknown('a second operand', 'one operand each')
  } while (filter[at] !== ']')
  return at + 1
}

function wrong(what: string, filter: string): never {
  throw new AgentError(`The filter ${JSON.stringify(filter.slice(0, 200))} is wrong: ${what}; correct it`)
}

function unknown(what: string, known: string): never {
  throw new AgentError(`The wiki in memory does not know ${what.slice(0, 200)} in a filter; it knows ${known}`)
}
