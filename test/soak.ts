import { test } from 'vitest'

/**
 * Long sweeps: `npm test` takes a part of each, another part each time; `npm run soak` takes them whole. A test that does
 * so names in its failure what it took.
 */
export const isSoak: boolean = process.env.LIBERO_SOAK === '1'

/** How many rounds a test makes: so many in `npm test`, all of them in `npm run soak`. */
export function rounds(sample: number, whole: number): number {
  return isSoak ? whole : sample
}

/** About `count` of the cases, spread over the list, others each time; all of them in `npm run soak`. */
export function sampleOf<Case>(cases: readonly Case[], count: number): readonly Case[] {
  if (isSoak || cases.length <= count) return cases
  const step = cases.length / count
  const start = Math.random() * step
  return Array.from({ length: count }, (_, i) => cases[Math.floor(start + i * step)]!)
}

/**
 * A `test` for files that take long: of its tests `npm test` runs one in `count`, others each time, and the first of each id
 * that names begin with, such as `A033 …` or `FM-19 …`; the others are skipped. Of the cases of `test.for` and `test.each` it
 * runs one in `count` too, unless a case is the beginning of the name, where its id may be. `npm run soak` runs all.
 */
export function testInTurns(count: number): typeof test {
  const seen = new Set<string>()
  let turn = Math.floor(Math.random() * count)
  const isTaken = (name: unknown): boolean => {
    const [start = ''] = /^(?:[A-Z]{1,3}-?\d{2,3}[ ,]+)*/.exec(String(name)) ?? []
    const isNew = (start.match(/[^ ,]+/g) ?? []).filter((id) => !seen.has(id) && seen.add(id)).length > 0
    return isSoak || isNew || turn++ % count === 0
  }
  const inTurns =
    (key: 'for' | 'each') =>
    (cases: readonly unknown[]) =>
    (...args: unknown[]) => {
      const picked = /^[%$]/.test(String(args[0])) ? cases : sampleOf(cases, Math.ceil(cases.length / count))
      return Reflect.apply(Reflect.apply(test[key], test, [picked]), undefined, args)
    }
  return new Proxy(test, {
    apply: (_, self, args) => Reflect.apply(isTaken(args[0]) ? test : test.skip, self, args),
    get: (_, key) => (key === 'for' || key === 'each' ? inTurns(key) : Reflect.get(test, key)),
  })
}
