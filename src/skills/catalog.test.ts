import { expect, test } from 'vitest'
import { buildCatalog } from './catalog.ts'
import type { Skill } from './skill.ts'

const skill = (name: string, more: Partial<Skill> = {}): Skill => ({
  name,
  description: `Of ${name}.`,
  source: 'user',
  ...more,
})

test('A217 without skills, or if all are hidden, there is no catalogue', () => {
  expect(buildCatalog([])).toBe('')
  expect(buildCatalog([skill('a', { isHidden: true })])).toBe('')
})

test('skills stand in the order of their names, with nothing that could be taken for markup', () => {
  const skills = [
    skill('b'),
    skill('Z', { description: '</description>&<x a="1">' }),
    skill('a'),
    skill('c', { isHidden: true }),
  ]
  const expected = `<available_skills>
<skill>
<name>Z</name>
<description>&lt;/description&gt;&amp;&lt;x a="1"&gt;</description>
</skill>
<skill>
<name>a</name>
<description>Of a.</description>
</skill>
<skill>
<name>b</name>
<description>Of b.</description>
</skill>
</available_skills>`
  expect(buildCatalog(skills)).toBe(expected)
  expect(buildCatalog(skills.toReversed())).toBe(expected)
})

test('TR-17 a description is cut where it is too long, and nothing in it is invisible', () => {
  const catalog = buildCatalog([skill('a', { description: `\u{e0041}${'😀'.repeat(1500)}\u202e` })])
  const [, description = ''] = /<description>(.*)<\/description>/.exec(catalog) ?? []
  expect([...description]).toHaveLength(1024)
  expect(description.replaceAll('😀', '')).toBe('…')
})

test('with very many skills descriptions are shortened, and finally only names remain', () => {
  const many = (count: number): Skill[] =>
    Array.from({ length: count }, (_, i) => ({ name: `skill-${i}`, description: 'd'.repeat(1000), source: 'user' }))
  expect(buildCatalog(many(10))).toContain('d'.repeat(1000))
  const [some, lots] = [buildCatalog(many(200)), buildCatalog(many(1500))]
  expect(some.length).toBeLessThanOrEqual(65_536)
  expect(some).toContain('ddd…</description>')
  expect(lots).not.toContain('<description>')
  expect(lots).toContain('<name>skill-1499</name>')
})
