import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runVitest } from './test.ts'

export interface Mission {
  groups: { id: string; title: string; rows: Record<string, string> }[]
}

/** The part of vitest's JSON report that is read here. */
export interface TestReport {
  success: boolean
  testResults: {
    name: string
    status: string
    message?: string
    assertionResults: { title: string; ancestorTitles?: string[]; status: string }[]
  }[]
}

export interface RowState {
  id: string
  description: string
  state: 'proved' | 'failing' | 'unproved'
}

export interface MissionCount {
  groups: { id: string; title: string; rows: RowState[] }[]
  warnings: string[]
}

/** Which rows of the mission table have a passing test and no failing one. */
export function countRows(mission: Mission, report: TestReport): MissionCount {
  const known = new Set(mission.groups.flatMap((group) => Object.keys(group.rows)))
  const passed = new Set<string>()
  const failed = new Set<string>()
  const warnings = new Set(failuresOutsideTests(report))

  for (const file of report.testResults) {
    for (const test of file.assertionResults) {
      for (const title of [...(test.ancestorTitles ?? []), test.title]) {
        const ids = idsFromTitle(title)
        if (ids.length > MAX_IDS) {
          warnings.add(`more than ${MAX_IDS} row ids, none counted: ${title}`)
          continue
        }
        for (const id of ids) {
          if (!known.has(id)) warnings.add(`unknown row id ${id}: ${title}`)
          else if (test.status === 'passed') passed.add(id)
          else if (test.status === 'failed') failed.add(id)
        }
      }
    }
  }

  const stateOf = (id: string) => (failed.has(id) ? 'failing' : passed.has(id) ? 'proved' : 'unproved')
  const groups = mission.groups.map(({ id, title, rows }) => ({
    id,
    title,
    rows: Object.entries(rows).map(([id, description]): RowState => ({ id, description, state: stateOf(id) })),
  }))
  return { groups, warnings: [...warnings] }
}

/** The row ids that the title of a test or of a `describe` begins with; ids further on in it are mere mentions. */
export function idsFromTitle(title: string): string[] {
  const run = /^(?:[A-Z]{1,2}\d{2,3}(?![\w-])[\s,]*)+/.exec(title)
  return run?.[0].match(/[A-Z]{1,2}\d{2,3}/g) ?? []
}

export function formatCount({ groups, warnings }: MissionCount): string {
  const width = Math.max(...groups.map((group) => group.title.length))
  const table = groups.map(({ id, title, rows }) => {
    const proved = rows.filter((row) => row.state === 'proved').length
    return `${id}  ${title.padEnd(width)}  ${String(proved).padStart(3)} / ${rows.length}`
  })

  const rows = groups.flatMap((group) => group.rows)
  const open = rows.filter((row) => row.state !== 'proved')
  const unproved = open.map((row) => `${row.id}  ${row.description}${row.state === 'failing' ? '  [failing]' : ''}`)

  return [
    ...table,
    ...section('warnings:', warnings),
    ...section('not proved:', unproved),
    '',
    `mission: ${rows.length - open.length} of ${rows.length} rows proved`,
  ].join('\n')
}

const MAX_IDS = 3
const ROOT = fileURLToPath(new URL('..', import.meta.url))

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return []
  return ['', title, ...lines.map((line) => `  ${line}`)]
}

/** Such failures leave tests unrun or hide behind passed ones, so the count alone would not show them. */
function failuresOutsideTests({ success, testResults }: TestReport): string[] {
  const failed = testResults.filter((file) => file.status === 'failed')
  if (failed.length === 0) return success ? [] : ['vitest failed although no test file did (unhandled error?)']

  return failed
    .filter((file) => !file.assertionResults.some((test) => test.status === 'failed'))
    .map((file) => `${file.name} failed outside its tests: ${firstLine(file.message) || 'in a hook?'}`)
}

function firstLine(text = ''): string {
  return text.trim().split('\n', 1)[0]!
}

async function main(): Promise<void> {
  const mission: Mission = JSON.parse(await readFile(join(ROOT, 'test/mission.json'), 'utf8'))
  const folder = await mkdtemp(join(tmpdir(), 'libero-mission-'))
  try {
    const report = await runTests(join(folder, 'report.json'))
    console.log(formatCount(countRows(mission, report)))
  } catch (error) {
    console.error(`mission: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function runTests(outputFile: string): Promise<TestReport> {
  const start = Date.now()
  process.stderr.write('mission: running the test suite ...')
  const { ending, output } = await runVitest(['--reporter=json', `--outputFile=${outputFile}`], 'pipe')
  process.stderr.write(` ${((Date.now() - start) / 1000).toFixed(1)} s\n`)

  try {
    return JSON.parse(await readFile(outputFile, 'utf8'))
  } catch {
    throw new Error(`vitest ${ending} without a readable report\n${output}`)
  }
}

if (import.meta.main) await main()
