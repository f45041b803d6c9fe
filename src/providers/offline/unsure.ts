import { nearest } from '../../core/nearest.ts'
import { examples, type Kind } from './intent.ts'
import { notAModel } from './plans-talk.ts'
import { brief } from './results.ts'

/** The question that is asked back when a request means nothing that is known; the nearest example comes first. */
export function unsureAbout(text: string): string {
  const [first, ...others] = nearestKinds(text).map((kind) => `“${examples[kind]}”`)
  const asked =
    text.trim() === ''
      ? 'You did not say anything that I can read.'
      : `I am not sure what you mean by “${brief(text, 80)}”.`
  return `${asked} ${notAModel} Did you mean something like ${first}? I also understand ${others.join(' and ')}; “${examples.help}” shows the rest.`
}

/** Words by which a kind may be told, beside those of its example. */
const hints: Readonly<Partial<Record<Kind, string>>> = {
  list: 'list ls dir files folder directory show what contents',
  read: 'read show open view print cat file look display explain describe',
  search: 'search find grep look for where text occurrence usage',
  files: 'find files named called matching pattern',
  run: 'run execute command shell start install build script npm git commit',
  fix: 'fix repair mend test tests failing bug error broken solve debug',
  replace: 'replace change edit rename modify update refactor substitute swap',
  create: 'create make write new file add generate save',
  append: 'append add end',
  count: 'count how many lines',
  changes: 'changed diff status git changes different',
  note: 'remember todo note task remind',
  fetch: 'fetch download url web page http get',
  remind: 'remind reminder alarm wake later',
  recent: 'wiki page pages tiddler recent',
  summary: 'summarise summary recap did done',
}

const common: readonly Kind[] = ['list', 'read', 'run']

function nearestKinds(text: string): Kind[] {
  const words =
    text
      .slice(0, 300)
      .toLowerCase()
      .match(/[a-z]{2,20}/g) ?? []
  const scored = Object.entries(hints).map(([kind, hint]) => ({ kind: kind as Kind, score: scoreOf(words, hint) }))
  const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  return [...new Set([...best.map(({ kind }) => kind), ...common])].slice(0, 3)
}

function scoreOf(words: readonly string[], hint: string): number {
  const known = hint.split(' ')
  let score = 0
  for (const [i, word] of words.slice(0, 20).entries()) {
    const weight = i === 0 ? 3 : 1
    if (known.includes(word)) score += 2 * weight
    else if (
      word.length > 3 &&
      nearest(
        word,
        known.filter(({ length }) => length > 3),
        1,
      ).length > 0
    )
      score += weight
  }
  return score
}
