import { withoutHidden } from '../platform/visible-text.ts'
import { mostDescription } from './parse-skill.ts'
import type { Skill } from './skill.ts'

/**
 * The names and descriptions of skills as a model gets them, by name, so that the same skills give the same bytes. Empty
 * where there are none; hidden ones are left out.
 */
export function buildCatalog(skills: readonly Skill[]): string {
  const offered = skills.filter(({ isHidden }) => !isHidden).toSorted((a, b) => compare(a.name, b.name))
  if (offered.length === 0) return ''
  return `<available_skills>\n${offered.map(entryOf).join('\n')}\n</available_skills>`
}

/** By code units: the order of a language would differ from machine to machine. */
export function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function entryOf({ name, description }: Skill): string {
  return `<skill>\n<name>${escaped(name)}</name>\n<description>${escaped(cut(description))}</description>\n</skill>`
}

function cut(description: string): string {
  const signs = [...withoutHidden(description).text]
  return signs.length > mostDescription ? `${signs.slice(0, mostDescription - 1).join('')}…` : signs.join('')
}

function escaped(text: string): string {
  return withoutHidden(text).text.replace(/[&<>]/g, (sign) => entities[sign] ?? sign)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
