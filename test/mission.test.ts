import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { countRows, formatCount, idsFromTitle, type Mission, type TestReport } from '../scripts/mission.ts'

describe('ids from a title', () => {
  it('reads up to three leading ids, separated by spaces or commas', () => {
    expect(idsFromTitle('A030 steering skips the rest')).toEqual(['A030'])
    expect(idsFromTitle('A103 A106 budgets hold')).toEqual(['A103', 'A106'])
    expect(idsFromTitle('A103, A106,B001 budgets hold')).toEqual(['A103', 'A106', 'B001'])
    expect(idsFromTitle('A103')).toEqual(['A103'])
    expect(idsFromTitle('E05 a finding has two digits')).toEqual(['E05'])
    expect(idsFromTitle('ST07 E08 an issue has two letters')).toEqual(['ST07', 'E08'])
  })

  it('takes ids after the first word for mentions', () => {
    expect(idsFromTitle('steering as in A030')).toEqual([])
    expect(idsFromTitle('A030 unlike A031')).toEqual(['A030'])
  })

  it('is not fooled by longer words or ranges', () => {
    expect(idsFromTitle('A0301 is no id')).toEqual([])
    expect(idsFromTitle('A030b is no id')).toEqual([])
    expect(idsFromTitle('A030-A035 are not enumerated')).toEqual([])
    expect(idsFromTitle('A030A031 are not separated')).toEqual([])
  })
})

describe('count from a report', () => {
  it('counts a row named by a passing test', () => {
    expect(states(['A001 works', 'passed'], ['A002 B001 work', 'passed'])).toEqual({
      A001: 'proved',
      A002: 'proved',
      B001: 'proved',
      B002: 'unproved',
    })
  })

  it('does not count skipped, pending and todo tests', () => {
    const counted = states(['A001 later', 'skipped'], ['A002 later', 'todo'], ['B001 later', 'pending'])
    expect(new Set(Object.values(counted))).toEqual(new Set(['unproved']))
  })

  it('counts a row with one skipped and one passing test', () => {
    expect(states(['A001 on Windows', 'skipped'], ['A001 elsewhere', 'passed'])).toMatchObject({ A001: 'proved' })
  })

  it('lets a failing test beat a passing one, whichever comes first', () => {
    const counted = states(['A001 a', 'failed'], ['A001 b', 'passed'], ['A002 a', 'passed'], ['A002 b', 'failed'])
    expect(counted).toMatchObject({ A001: 'failing', A002: 'failing' })
  })

  it('counts a row named by a group of tests, unless one of them fails', () => {
    const inGroup = (id: string, status: string) => ({
      title: 'works',
      ancestorTitles: ['all', `${id} things`],
      status,
    })
    const assertionResults = [inGroup('A001', 'passed'), inGroup('A002', 'passed'), inGroup('A002', 'failed')]
    const testResults = [{ name: 'x.test.ts', status: 'passed', assertionResults }]
    expect(statesOf(countRows(MISSION, { success: true, testResults }))).toMatchObject({
      A001: 'proved',
      A002: 'failing',
    })
  })

  it('counts none of more than three ids and warns', () => {
    const count = countRows(MISSION, report(['A001 A002 B001 B002 all at once', 'passed']))
    expect(statesOf(count)).toEqual({ A001: 'unproved', A002: 'unproved', B001: 'unproved', B002: 'unproved' })
    expect(count.warnings).toEqual(['more than 3 row ids, none counted: A001 A002 B001 B002 all at once'])
  })

  it('warns of an unknown id and counts the known one beside it', () => {
    const count = countRows(MISSION, report(['A001 Z999 two', 'passed']))
    expect(statesOf(count)).toMatchObject({ A001: 'proved' })
    expect(count.warnings).toEqual(['unknown row id Z999: A001 Z999 two'])
  })

  it('warns of a file that failed outside its tests', () => {
    const unloaded = { name: 'x.test.ts', status: 'failed', message: 'no such module\nat x', assertionResults: [] }
    const badHook = { name: 'y.test.ts', status: 'failed', assertionResults: [{ title: 'A001 x', status: 'passed' }] }
    const badTest = { name: 'z.test.ts', status: 'failed', assertionResults: [{ title: 'A002 x', status: 'failed' }] }
    const count = countRows(MISSION, { success: false, testResults: [unloaded, badHook, badTest] })
    expect(count.warnings).toEqual([
      'x.test.ts failed outside its tests: no such module',
      'y.test.ts failed outside its tests: in a hook?',
    ])
  })

  it('warns of a failed run in which every file passed', () => {
    const count = countRows(MISSION, { ...report(['A001 works', 'passed']), success: false })
    expect(count.warnings).toEqual(['vitest failed although no test file did (unhandled error?)'])
  })
})

describe('printed report', () => {
  it('lists groups, warnings and open rows and closes with the total', () => {
    const tests = report(['A001 works', 'passed'], ['A002 works', 'failed'], ['Z999 works', 'passed'])
    expect(formatCount(countRows(MISSION, tests)).split('\n')).toEqual([
      'E1  First           1 / 2',
      'E2  Second group    0 / 2',
      '',
      'warnings:',
      '  unknown row id Z999: Z999 works',
      '',
      'not proved:',
      '  A002  second row  [failing]',
      '  B001  third row',
      '  B002  fourth row',
      '',
      'mission: 1 of 4 rows proved',
    ])
  })

  it('has nothing but the table and the total when all is proved', () => {
    const text = formatCount(countRows(MISSION, report(['A001 A002 x', 'passed'], ['B001, B002 y', 'passed'])))
    expect(text).not.toContain('not proved')
    expect(text.endsWith('\n\nmission: 4 of 4 rows proved')).toBe(true)
  })
})

describe('mission.json', () => {
  const text = readFileSync(new URL('./mission.json', import.meta.url), 'utf8')
  const mission: Mission = JSON.parse(text)
  const rows = mission.groups.flatMap((group) => Object.entries(group.rows))

  it('has the 359 rows of the mission and those of findings and issues, each id once', () => {
    // Parsing hides a key given twice in one group, so the text is looked at as well.
    const written = text.match(/"[A-Z]{1,2}\d{2,3}":/g) ?? []
    expect(written).toHaveLength(rows.length)
    expect(new Set(rows.map(([id]) => id)).size).toBe(rows.length)
    expect(rows.filter(([id]) => /^[A-Z]\d{3}$/.test(id))).toHaveLength(359)
  })

  it('has the nine groups of the mission in order, then those of findings and issues', () => {
    const ids = mission.groups.map((group) => group.id)
    const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`)
    expect(ids).toEqual([...numbered('E', 9), ...numbered('F', ids.length - 9)])
  })

  it('describes every row in at most 100 characters', () => {
    const bad = rows.filter(([, description]) => description.trim() === '' || description.length > 100)
    expect(bad).toEqual([])
  })

  it('has a test in a pseudo-terminal for each row of the terminal', () => {
    const files = globSync('{src,test}/**/*.test.ts').map((file) => readFileSync(file, 'utf8'))
    const drivers = files.filter((file) =>
      /startInTerminal|startTui|startShell|startTerminalProcess|atTerminal/.test(file),
    )
    const titles = drivers.flatMap((file) => file.match(/(?<=['"`])(?:[A-Z]+\d+ )+/g) ?? [])
    const proved = new Set(titles.flatMap((title) => idsFromTitle(`${title}works`)))
    const missing = rows.map(([id]) => id).filter((id) => id.startsWith('UI') && !proved.has(id))
    // The pictures of the docs, and tmux, which is a terminal itself.
    expect(missing).toEqual(['UI83', 'UI85'])
  })

  it('uses ids that a test title can name', () => {
    expect(rows.filter(([id]) => idsFromTitle(`${id} works`)[0] !== id)).toEqual([])
  })
})

const MISSION: Mission = {
  groups: [
    { id: 'E1', title: 'First', rows: { A001: 'first row', A002: 'second row' } },
    { id: 'E2', title: 'Second group', rows: { B001: 'third row', B002: 'fourth row' } },
  ],
}

function report(...tests: [title: string, status: string][]): TestReport {
  const assertionResults = tests.map(([title, status]) => ({ title, status }))
  return { success: true, testResults: [{ name: 'made-up.test.ts', status: 'passed', message: '', assertionResults }] }
}

function states(...tests: [title: string, status: string][]) {
  return statesOf(countRows(MISSION, report(...tests)))
}

function statesOf(count: ReturnType<typeof countRows>): Record<string, string> {
  return Object.fromEntries(count.groups.flatMap((group) => group.rows.map((row) => [row.id, row.state])))
}
