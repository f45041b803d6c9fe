import type { Damaged } from './argument-damages.ts'
import type { Random } from './random.ts'
import { write } from './write-arguments.ts'

/**
 * Arguments with few quotes or none, one of whose texts contains what looks like another property: one that the tool
 * does not have, one that the arguments have as well, or one that they could have.
 */
export function deceptiveText(random: Random): Damaged {
  const given = names.filter((name) => name === 'path' || random.chance(50))
  const value = Object.fromEntries(shuffled(given, random).map((name) => [name, makers[name](random)]))
  const host = random.pick(given.filter((name) => typeof value[name] === 'string' && name !== 'mode'))
  const meant = { ...value, [host]: value[host] + lookalike(value, random) }
  const bare = (text: string): string => (random.chance(80) ? text : JSON.stringify(text))
  const text = write(meant, {
    key: bare,
    propertyString: (inner) => (inner === meant[host] ? inner : bare(inner)),
    comma: () => random.pick([', ', ',\n  ', ' , ']),
  })
  const required = given.filter(() => random.chance(50))
  return { text, meant, schema: { type: 'object', properties, required } }
}

const names = ['path', 'note', 'mode', 'limit', 'dry_run', 'options'] as const
const properties = {
  ...{ path: { type: 'string' }, note: { type: 'string' }, mode: { type: 'string', enum: ['fast', 'slow'] } },
  ...{ limit: { type: 'integer' }, dry_run: { type: 'boolean' }, options: { type: 'object' } },
}

const words = ['a', 'first', 'src/x.ts', 'a:b', 'b c', '50%', 'see x:1', 'fix it.']
const word = (random: Random): string => random.pick(words)
const makers: Readonly<Record<(typeof names)[number], (random: Random) => unknown>> = {
  ...{ path: word, note: word, mode: (random) => random.pick(['fast', 'slow']), limit: (random) => random.below(9) },
  dry_run: (random) => random.chance(50),
  options: (random) => {
    const text = word(random) + random.pick(['', ', limit: 5', ', dry_run: true'])
    return { [random.pick(names)]: text, [random.pick(names)]: random.below(9) }
  },
}

/** The comma and the colon of a property. For a property that is absent, its value is one that the tool does not take. */
function lookalike(value: Readonly<Record<string, unknown>>, random: Random): string {
  const name = random.pick([...names, 'other'])
  const gap = random.pick([', ', ',', ',\n', ' , '])
  const isGiven = Object.hasOwn(value, name)
  const shown = isGiven && random.chance(70) ? value[name] : word(random)
  const more = random.chance(30) ? lookalike(value, random) : ''
  return `${gap}${name}${random.pick([': ', ':'])}${typeof shown === 'string' ? shown : write(shown)}${more}`
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, order: random.below(1000) }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
