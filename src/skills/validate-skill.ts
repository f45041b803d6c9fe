import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { CodedError, messageOf } from '../core/errors.ts'
import { fullyVisible, withoutHidden } from '../platform/visible-text.ts'
import { fieldsOf, splitFrontMatter } from './front-matter.ts'
import { mostCompatibility, mostDescription, ownFields, standardFields } from './parse-skill.ts'
import type { SkillProblem } from './skill.ts'
import { readWhole } from './skill-files.ts'
import { nameFaults, normalName, whyDangerous } from './skill-name.ts'

/** Checks a skill strictly against the standard; an empty list if it is valid. */
export async function validateSkill(folder: string): Promise<readonly SkillProblem[]> {
  const path = resolve(folder)
  try {
    const file = await fileIn(path)
    const text = await readWhole(join(path, file))
    if (text.startsWith('\uFEFF')) throw refused('it begins with a byte order mark, where only --- may stand')
    const parts = splitFrontMatter(text)
    if ('failure' in parts) throw refused(parts.failure)
    const { fields, failure = '' } = await fieldsOf(parts.yaml)
    if (!fields) throw refused(fullyVisible(failure))
    const found = [...faultsOf(fields, basename(path)), ...hiddenIn(parts.yaml + parts.body)]
    return found.map(([field, problem]) => ({ path, problem, isSkipped: false, ...(field && { field }) }))
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    return [{ path, problem: error.sentence, isSkipped: true }]
  }
}

type Fault = readonly [field: string, problem: string]

async function fileIn(path: string): Promise<string> {
  const info = await stat(path).catch(() => undefined)
  if (!info) throw refused('there is no such folder; check the path')
  if (!info.isDirectory()) throw refused('it is no folder; name the folder that SKILL.md lies in')
  const names = await readdir(path).catch((error) => {
    throw refused(`it cannot be looked into: ${messageOf(error)}`)
  })
  const candidates = names.filter((name) => name.toLowerCase() === 'skill.md')
  if (candidates.length > 1)
    throw refused(`it has ${candidates.sort().join(' and ')}, which are one file on many machines`)
  const file = candidates.find((name) => name === 'SKILL.md' || name === 'skill.md')
  if (file === undefined) throw refused('it has no SKILL.md')
  return file
}

function faultsOf(fields: ReadonlyMap<string, unknown>, folderName: string): readonly Fault[] {
  return [
    ...[...fields.keys()].filter((key) => !standardFields.includes(key)).map(unknownField),
    ...nameOf(fields.get('name'), folderName),
    ...textFaults(fields, 'description', mostDescription),
    ...(fields.has('description') ? [] : [['description', 'it has no description'] as const]),
    ...textFaults(fields, 'compatibility', mostCompatibility),
    ...textFaults(fields, 'license'),
    ...textFaults(fields, 'allowed-tools'),
    ...(fields.get('metadata') instanceof Map || !fields.has('metadata')
      ? []
      : [['metadata', 'metadata has to be a list of fields'] as const]),
  ]
}

function unknownField(key: string): Fault {
  const name = fullyVisible(key.slice(0, 100))
  const isOurs = ownFields.includes(key)
  return [name, isOurs ? `${name} is read by Libero, but not in the standard` : `${name} is not in the standard`]
}

function nameOf(value: unknown, folderName: string): readonly Fault[] {
  if (typeof value !== 'string' || value.trim() === '') return [['name', 'it has no name']]
  const name = normalName(value)
  const faults = nameFaults(name, folderName)
  const danger = faults.length === 0 ? whyDangerous(name) : undefined
  return [...faults, ...(danger ? [danger] : [])].map((fault) => ['name', fault])
}

function textFaults(
  fields: ReadonlyMap<string, unknown>,
  field: string,
  most = Number.POSITIVE_INFINITY,
): readonly Fault[] {
  if (!fields.has(field)) return []
  const value = fields.get(field)
  if (typeof value !== 'string') return [[field, `${field} has to be a text`]]
  const length = [...value.trim()].length
  if (length === 0 && field === 'description') return [[field, 'its description is empty']]
  return length > most ? [[field, `${field} has ${length} characters, where ${most} is the limit`]] : []
}

/** Hidden characters: not mentioned in the standard, but a reason not to publish. */
function hiddenIn(text: string): readonly Fault[] {
  const { hidden } = withoutHidden(text)
  return hidden === 0 ? [] : [['', `it has ${hidden} hidden characters, which no reader sees`]]
}

function refused(problem: string): CodedError {
  return new CodedError('Validation/SkillInvalid', problem)
}
