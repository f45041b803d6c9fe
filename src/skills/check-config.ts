import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { SkillDefinition, SkillsConfig } from './skill.ts'

/** Throws on an invalid `skills` option, naming the field and a similar known one. */
export function checkSkillsConfig(config: unknown): asserts config is SkillsConfig {
  for (const [name, value] of Object.entries(config as object)) {
    if (!Object.hasOwn(fields, name))
      throw new TypeError(`skills has no field "${name}"${didYouMean(name, Object.keys(fields))}`)
    const [isRight, wanted] = fields[name as keyof SkillsConfig]
    if (value !== undefined && !isRight(value))
      throw new TypeError(`skills.${name} must be ${wanted}, got ${show(value)}`)
  }
  for (const [i, skill] of ((config as SkillsConfig).write ?? []).entries())
    checkDefinition(skill, `skills.write[${i}]`)
}

type Field = readonly [isRight: (value: unknown) => boolean, wanted: string]

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const texts: Field = [areTexts, 'a list of texts']
const text: Field = [isText, 'a text']

const fields: Record<keyof SkillsConfig, Field> = {
  scan: [areTexts, 'a list of folders'],
  write: [(value) => Array.isArray(value), 'a list of skills such as defineSkill gives'],
  exclude: [areTexts, 'a list of names'],
  enabled: [(value) => isFlag(value) || areTexts(value), 'true, false or a list of names'],
  maxActive: [(value) => Number.isInteger(value) && (value as number) >= 1, 'a number of skills, 1 or more'],
  trustProjectSkills: [
    (value) => isFlag(value) || typeof value === 'function',
    'true, false or a function of the folder',
  ],
  claude: [isFlag, 'true or false'],
  cwd: [isText, 'a folder'],
  home: [isText, 'a folder'],
  liberoHome: [isText, 'a folder'],
}

const definition: Record<keyof SkillDefinition, Field> = {
  name: text,
  description: text,
  instructions: text,
  allowedTools: texts,
  compatibility: text,
  model: text,
  thinking: text,
  paths: texts,
}

function checkDefinition(skill: unknown, where: string): void {
  if (typeof skill !== 'object' || skill === null)
    throw new TypeError(`${where} must be a skill { name, description, instructions }, got ${show(skill)}`)
  for (const name of Object.keys(skill))
    if (!Object.hasOwn(definition, name))
      throw new TypeError(`${where} has no field "${name}"${didYouMean(name, Object.keys(definition))}`)
  for (const [name, [isRight, wanted]] of Object.entries(definition)) {
    const value = (skill as Record<string, unknown>)[name]
    const isMissing = value === undefined && !['name', 'description', 'instructions'].includes(name)
    if (!isMissing && !isRight(value)) throw new TypeError(`${where}.${name} must be ${wanted}, got ${show(value)}`)
  }
}
