import { join } from 'node:path'
import { parseFrontmatter, readProperties, validate } from 'skills-ref'
import { expect, test } from 'vitest'
import { parseSkill } from '../../src/skills/parse-skill.ts'
import { validateSkill } from '../../src/skills/validate-skill.ts'
import { temporary } from '../temporary.ts'
import { cases, type SkillCase } from './corpus/cases.ts'
import { put } from './skills-kit.ts'

/** Where we and skills-ref do not agree on whether a skill is valid, and why. */
const verdicts: Readonly<Record<string, string>> = {
  'many-emoji': 'it counts UTF-16 units; the Python original and we count characters',
  'compatibility-number': 'to the Python original and to us every value is text',
  スキル: 'it knows only some scripts; the Python original and we take letters of all',
  con: 'we refuse names of devices (SK-05)',
  'empty-description': 'it takes null for the text "null"',
  'list-description': 'it takes a list for the text "a,b"',
  'list-of-tools': 'it does not look at the type; the standard wants a text',
  'metadata-text': 'it does not look at the type; the standard wants fields',
  hidden: 'we refuse what no reader sees (TR-17)',
  both: 'we refuse two files that are one on many machines (SK-04)',
}

/** Where we do not read the same. */
const readings: Readonly<Record<string, string>> = {
  'version-number': 'it reads numbers and prints them again: 1.0 becomes 1',
  'nested-metadata': 'it says [object Object], we say JSON',
  'compatibility-number': 'it gives a number where a text is due',
  café: 'it composes the name only to check it',
  '42': 'it refuses a number as a name, which to the Python original is text',
  con: 'we refuse names of devices (SK-05)',
  'no-name': 'we are lenient and take the folder’s name',
  'empty-name': 'we are lenient and take the folder’s name',
  'list-of-tools': 'it gives the list as it is, we make it one',
  'metadata-text': 'we leave it out',
  colon: 'we read it as text, as clients are told to',
  'hyphens-in-value': 'it ends the front matter at any ---, we at a line of its own',
  hidden: 'we take out what no reader sees (TR-17)',
  bom: 'we are lenient with a byte order mark',
  'rule-in-body': 'it loses what follows a third ---',
  'other-letters': 'only its folder is asked there; we get the text',
}

test.each(cases)('$folder: our verdict is that of skills-ref', async ({ folder, files }) => {
  const path = await written({ folder, files })
  const ours = (await validateSkill(path)).map(({ problem }) => problem)
  const theirs = await validate(path)
  const agree = (ours.length === 0) === (theirs.length === 0)
  expect({ agree, ours, theirs }).toMatchObject({ agree: verdicts[folder] === undefined })
})

test.each(cases)('$folder: we read what skills-ref reads', async ({ folder, files }) => {
  const path = await written({ folder, files })
  const [content] = Object.values(files)
  const theirs = await readProperties(path).then(
    (properties) => properties.toDict(),
    () => undefined,
  )
  const { skill, instructions } = await parseSkill(content!, folder)
  const ours = skill && {
    name: skill.name,
    description: skill.description,
    ...(skill.license && { license: skill.license }),
    ...(skill.compatibility && { compatibility: skill.compatibility }),
    ...(skill.allowedTools && { 'allowed-tools': skill.allowedTools.join(' ') }),
    ...(skill.metadata && { metadata: skill.metadata }),
  }
  const body = theirs && parseFrontmatter(content!)[1]
  const [a, b] = [
    { ours, body: skill && instructions },
    { ours: theirs, body },
  ]
  if (readings[folder] === undefined) expect(a).toEqual(b)
  else expect(a).not.toEqual(b)
})

test('every difference that is listed belongs to a case', () => {
  const folders = new Set(cases.map(({ folder }) => folder))
  expect(folders.size).toBe(cases.length)
  for (const folder of [...Object.keys(verdicts), ...Object.keys(readings)]) expect(folders).toContain(folder)
})

async function written({ folder, files }: SkillCase): Promise<string> {
  const root = await temporary('skills-ref-')
  for (const [name, text] of Object.entries(files)) await put(join(root, folder, name), text)
  return join(root, folder)
}
