import { type FSWatcher, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { skipped, unavailable } from '../bubblewrap-kit.ts'
import { rounds, sampleOf } from '../soak.ts'
import { everydayLines } from './everyday.ts'
import { missingPrograms, runLine } from './harness.ts'
import { changes, snapshot } from './leaks.ts'
import { confinements, measureEveryday } from './measure.ts'
import { createProject, type Project, type ProjectPlace } from './project.ts'

const runnable = everydayLines.filter(({ isJudgedOnly }) => !isJudgedOnly)
const here = runnable.filter(({ needs }) => missingPrograms(needs).length === 0)
for (const { line, needs } of runnable.filter((one) => !here.includes(one)))
  console.warn(`NOT TRIED, ${line}: ${missingPrograms(needs).join(', ')} is not installed`)

test('there are 129 everyday lines', () => {
  expect(everydayLines).toHaveLength(129)
})

const profiles = ['read-only', 'workspace-write'] as const
/** How many of the 129 lines give the same result in each sandbox. */
const goals = { 'read-only': 104, 'workspace-write': 116 }

test('W02 of the everyday lines so many are not said to differ in a sandbox', () => {
  const same = (profile: (typeof profiles)[number]) => runnable.filter(({ differs }) => !differs?.[profile]).length
  for (const profile of profiles) expect(same(profile)).toBeGreaterThanOrEqual(goals[profile])
})

const everywhere: readonly ProjectPlace[] = ['repository', 'worktree', 'subfolder']

describe.skipIf(unavailable).each(sampleOf(everywhere, 1))(`in a project that is a %s${skipped}`, (place) => {
  let project: Project
  beforeAll(async () => {
    project = await createProject(place)
  })
  afterAll(() => project.close())

  test('W02 everyday lines of a sample give the same result in both sandboxes as without, unless they say why not', {
    timeout: 1_800_000,
  }, async () => {
    const wrong: string[] = []
    for (const line of sampleOf(here, 5)) {
      const { differences } = await measureEveryday(line, project, profiles)
      for (const profile of profiles)
        if ((differences[profile] === undefined) === (line.differs?.[profile] !== undefined))
          wrong.push(`${line.line} in ${profile}: ${differences[profile] ?? 'is the same, and should differ'}`)
    }
    expect(wrong).toEqual([])
  })

  test('W04 no everyday line causes a write event in a workspace that is read-only', {
    timeout: 1_800_000,
  }, async () => {
    const events: string[] = []
    const watcher = await watchAll(project.cwd, events)
    try {
      const before = snapshot(project.cwd, shared)
      for (const { line } of sampleOf(here, rounds(8, Infinity))) {
        const seen = events.length
        await runLine(project.fill(line), { ...project, confinement: confinements['read-only'](project.cwd) })
        for (const event of events.slice(seen)) expect.soft(event, line).toBeUndefined()
      }
      await sleep(50)
      expect(events).toEqual([])
      expect(changes(before, snapshot(project.cwd, shared))).toEqual([])
    } finally {
      watcher.close()
    }
  })
})

/** Hard links to files of this checkout, which other tests link to at the same time. */
const shared = ['node_modules/typescript', 'node_modules/@typescript', 'node_modules/.bin']

/** Watches a folder with all below it; resolves when it is seen to work. */
async function watchAll(folder: string, events: string[]): Promise<FSWatcher> {
  const watcher = watch(folder, { recursive: true }, (kind, name) => {
    if (!shared.some((folder) => name?.startsWith(folder))) events.push(`${kind} ${name}`)
  })
  const file = join(folder, 'README.md')
  const content = 'It is being watched.\n'
  for (let tries = 0; events.length === 0 && tries < 100; tries++) {
    writeFileSync(file, content)
    await sleep(50)
  }
  expect(events).not.toEqual([])
  // On a busy machine the files of the project are still reported as made.
  for (let before = -1; before !== events.length; await sleep(100)) before = events.length
  events.length = 0
  return watcher
}
