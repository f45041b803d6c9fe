import type { TagPlace } from './read-tag.ts'

/** A tag between which a model thinks; `end` is the index behind it. */
export interface ThoughtTag {
  readonly kind: 'thought opens' | 'thought ends'
  readonly name: string
  readonly end: number
}

/** The words that models think in. */
export const thoughtNames = ['think', 'thinking', 'thought', 'reasoning'] as const

/** The tag of a thought that begins here; `more` where that depends on what follows. */
export function thoughtTagAt({ text, at, isEnd }: TagPlace): ThoughtTag | 'more' | undefined {
  let mayFollow = false
  for (const { tag, kind, name } of tags) {
    const found = text.slice(at, at + tag.length).toLowerCase()
    if (found === tag) return { kind, name, end: at + tag.length }
    if (at + found.length === text.length && tag.startsWith(found)) mayFollow = true
  }
  return mayFollow && !isEnd ? 'more' : undefined
}

const tags = thoughtNames.flatMap((name) => [
  { tag: `<${name}>`, kind: 'thought opens', name } as const,
  { tag: `</${name}>`, kind: 'thought ends', name } as const,
])

/** No tag of a thought is longer. */
export const longestThoughtTag = Math.max(...tags.map(({ tag }) => tag.length))
