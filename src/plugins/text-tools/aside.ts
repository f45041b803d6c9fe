import type { TagPlace } from './read-tag.ts'
import { thoughtNames } from './thought-tag.ts'

/** What a model says to itself, or repeats. Whatever stands in it is text. */
export interface Aside {
  readonly open: string
  readonly close: RegExp
  /** No beginning of what closes it is longer. */
  readonly most: number
}

/** The aside that begins here; `more` where that depends on what follows. */
export function asideAt({ text, at, isEnd }: TagPlace): Aside | 'more' | undefined {
  let mayFollow = false
  for (const aside of asides) {
    const found = text.slice(at, at + aside.open.length).toLowerCase()
    if (found === aside.open) return aside
    if (at + found.length === text.length && aside.open.startsWith(found)) mayFollow = true
  }
  return mayFollow && !isEnd ? 'more' : undefined
}

const asides: readonly Aside[] = [
  ...thoughtNames.map((name) => ({
    open: `<${name}>`,
    close: new RegExp(`</${name}>`, 'gi'),
    most: name.length + 2,
  })),
  // Results are ours to give; a model that writes them makes them up, or quotes.
  { open: '<functions_result>', close: /<\/functions_result>/gi, most: 18 },
  { open: '<!--', close: /-->/g, most: 2 },
]

/** Where what has begun is over; undefined where that is not to be seen yet. */
export function endOfAside({ close }: Aside, text: string, from: number): number | undefined {
  close.lastIndex = from
  const found = close.exec(text)
  return found ? found.index + found[0].length : undefined
}
