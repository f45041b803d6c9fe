import { visibleName } from '../platform/visible-text.ts'
import type { Skill } from './skill.ts'

/** What a model is given of a skill, between tags that nothing inside can close. */
export function skillContent(skill: Skill, instructions: string, resources: readonly string[]): string {
  const { name, folder, compatibility, allowedTools } = skill
  const facts = [
    ...(folder === undefined
      ? []
      : [`Skill directory: ${visibleName(folder)}`, 'Relative paths are meant from there.']),
    ...(compatibility === undefined ? [] : [`Compatibility: ${compatibility}`]),
    ...(allowedTools === undefined ? [] : [`Allowed tools while it is active: ${allowedTools.join(' ') || 'none'}`]),
    ...(resources.length === 0 ? [] : [resourceList(resources)]),
  ]
  const inside = [cut(instructions.trim()), ...(facts.length > 0 ? [facts.join('\n')] : [])].join('\n\n')
  return `<skill_content name="${attribute(name)}">\n${sealed(inside)}\n</skill_content>`
}

/** Beyond this, instructions leave no room for the work. */
const mostInstructions = 200_000

function cut(text: string): string {
  if (text.length <= mostInstructions) return text
  return `${text.slice(0, mostInstructions)}\n[cut: ${text.length - mostInstructions} more characters]`
}

function resourceList(resources: readonly string[]): string {
  const files = resources.map((path) => `- ${visibleName(path)}`)
  return `Files (skills_read shows one, skills_run_script runs a script):\n${files.join('\n')}`
}

/** Only our own tags are escaped: instructions are full of code. */
const sealed = (text: string): string => text.replace(/<(?=\s*\/?\s*skill_content)/gi, '&lt;')

const attribute = (text: string): string => visibleName(text).replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
