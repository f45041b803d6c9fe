import { existsSync } from 'node:fs'
import { appendFile, mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createAuthority,
  createMemoryAudit,
  createTrustList,
  enterProject,
  type Prompt,
  projectDigest,
  trustByDigest,
} from '../../src/authority/index.ts'
import type { SecurityMode } from '../../src/authority/rules/settings.ts'
import type { ProjectEntry } from '../../src/authority/trust/project-entry.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/index.ts'
import { layeredTools } from '../../src/layers/index.ts'
import type { AgentOptions } from '../../src/presets/preset.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { call, type Step, scripted, tool } from '../../src/testing/scripted.ts'
import { writeFile } from '../../src/tools/write-file.ts'
import { resultsOf, toolFile, until, world } from './tool-layers-kit.ts'

/** A person, what they were asked, and what they say: one word per project, and a scope for approvals. */
function person(words: readonly string[], approval: unknown = true) {
  const asked: Prompt[] = []
  const left = [...words]
  return {
    asked,
    about: (kind: string) => asked.filter((prompt) => prompt.kind === kind).map(({ payload }) => payload),
    present(prompt: Prompt): unknown {
      asked.push(prompt)
      if (prompt.kind === 'trustProject') return left.shift() ?? { status: 'rejected', reason: 'no more words' }
      return approval
    },
  }
}

interface Opening extends Partial<AgentOptions> {
  readonly who: ReturnType<typeof person>
  readonly clock?: FakeClock
  readonly mode?: SecurityMode
}

/** The whole of what an embedder writes to have a project’s tools under trust and authority. */
async function open(at: { home: string; project: string }, opening: Opening) {
  const { who, mode = 'ask', clock = fakeClock(), ...more } = opening
  const { home, project: root } = at
  const audit = createMemoryAudit()
  const list = createTrustList({ folder: join(home, 'config'), clock })
  let project: ProjectEntry | undefined
  const authority = createAuthority({
    mode,
    audit,
    interactors: [who.present],
    workspace: { root, isTrusted: () => project?.isTrusted() ?? false },
  })
  const { interact } = authority
  project = await enterProject(root, { list, interact, audit })
  const { mayReadTools: mayReadProject, revoked } = project
  const layers = layeredTools({ home, projectRoot: root, bundled, mayReadProject, revoked, interact, audit })
  const entry = project
  return {
    ...{ list, clock, layers, audit, authority, project },
    start(...script: Step[]) {
      const agent = createAgent({ provider: scripted(...script), extensions: [layers], authority, ...more })
      onTestFinished(async () => {
        await agent.destroy()
        await authority.close()
        entry.dispose()
      })
      return agent
    },
  }
}

const bundled = { read: tool('read', () => 'bundled', { deriveApprovalKey: () => 'docs' }) }

const canaryTool = (path: string, name = 'count'): string =>
  `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(path)}, '')\n${toolFile(name)}`

const states = (layers: { list(): readonly { name: string; layer: string; state: string }[] }): string[] =>
  layers.list().map(({ name, layer, state }) => `${name} ${layer} ${state}`)

async function place() {
  const at = await world()
  const canary = join(at.home, 'canary')
  await at.write('project/.libero/tools/count.mjs', canaryTool(canary))
  return { at, canary }
}

describe('a project with tools', () => {
  test('runs them once a person trusts it, each call approved', async () => {
    const { at, canary } = await place()
    const who = person(['trust'])
    const { start, layers, audit } = await open(at, { who })
    const agent = start([call('1', 'count')], 'done')
    expect(existsSync(canary)).toBe(false)
    await agent.run({ prompt: 'go' })
    expect(resultsOf(agent.turns)).toEqual(['count ran'])
    expect(who.asked.map(({ kind }) => kind)).toEqual(['trustProject', 'Approve'])
    expect(states(layers)).toEqual(['count project active', 'read bundled active'])
    const events = audit.records.map(({ event, origin }) => [event, origin?.layer])
    expect(events).toContainEqual(['ProjectTrusted', undefined])
    expect(events).toContainEqual(['ToolInvocationStarted', 'project'])
  })

  test.each([
    ['declines', ['decline']],
    ['says something else', ['yes']],
    ['says nothing', []],
  ])('TR-01 is not imported when a person %s', async (_, words) => {
    const { at, canary } = await place()
    const { start, layers, project } = await open(at, { who: person(words) })
    const agent = start([call('1', 'count')], 'done')
    await agent.run({ prompt: 'go' })
    expect(existsSync(canary)).toBe(false)
    expect(states(layers)).toEqual(['read bundled active'])
    expect(layers.diagnostics).toEqual([])
    expect(project.isTrusted()).toBe(false)
    expect(resultsOf(agent.turns)[0]).toContain('count')
    expect(resultsOf(agent.turns)[0]).not.toContain('count ran')
  })

  test('TR-06 that changed after trust wait, and none of them is imported until they are accepted', async () => {
    const { at, canary } = await place()
    await at.write('project/.libero/tools/other.mjs', toolFile('other'))
    ;(await open(at, { who: person(['trust']) })).project.dispose()
    await appendFile(join(at.project, '.libero/tools/count.mjs'), '\n// changed\n')
    const changed = await open(at, { who: person(['no']) })
    await changed.start('done').run({ prompt: 'go' })
    expect(states(changed.layers)).toEqual(['count project pending', 'other project active', 'read bundled active'])
    expect(existsSync(canary)).toBe(false)
    const accepted = await open(at, { who: person(['trust']) })
    await accepted.start('done').run({ prompt: 'go' })
    expect(states(accepted.layers)).toContain('count project active')
    expect(existsSync(canary)).toBe(true)
  })

  test('TR-07 that the model is told to write are asked about in every mode, and not loaded when they are written', async () => {
    const { at } = await place()
    const fresh = join(at.home, 'fresh')
    const who = person(['trust'])
    const { start, layers } = await open(at, {
      who,
      mode: 'yolo',
      tools: { writeFile },
      execution: createProcessContext({ cwd: at.project }),
    })
    const path = '.libero/tools/fresh.mjs'
    const agent = start([call('1', 'write_file', { path, content: canaryTool(fresh, 'fresh') })], 'done')
    await agent.run({ prompt: 'Add a tool.' })
    expect(who.about('Approve')).toMatchObject([{ description: expect.stringContaining(path) }])
    expect(existsSync(join(at.project, path))).toBe(true)
    await layers.reload()
    expect(states(layers)).toContain('fresh project pending')
    expect(existsSync(fresh)).toBe(false)
  })

  test('TR-06 that is written while the project is open is not loaded by a reload', async () => {
    const { at } = await place()
    const { layers, start } = await open(at, { who: person(['trust']) })
    await start('done').run({ prompt: 'go' })
    const fresh = join(at.home, 'fresh')
    await at.write('project/.libero/tools/fresh.mjs', canaryTool(fresh, 'fresh'))
    await at.write('project/.libero/tools/count.mjs', canaryTool(fresh))
    expect(await layers.reload()).toBe('refused')
    expect(states(layers)).toContain('fresh project pending')
    expect(existsSync(fresh)).toBe(false)
  })

  test('TR-06 whose neighbour changed is another tool', async () => {
    const at = await world()
    await at.write('project/src/words.mjs', `export const words = 'old'`)
    const source = toolFile('speak', { execute: 'async () => ({ ok: true, value: words })' })
    await at.write('project/.libero/tools/speak/index.mjs', `import { words } from '../../../src/words.mjs'\n${source}`)
    await at.write(
      'project/.libero/tools/speak/tool.json',
      JSON.stringify({
        id: 'speak',
        category: 'Tool',
        contractVersion: '1.0.0',
        requiredCoreVersion: '*',
        main: 'index.mjs',
      }),
    )
    await symlink('../../src/words.mjs', join(at.project, '.libero/tools/linked.mjs'))
    const trusted = await open(at, { who: person(['trust']) })
    const agent = trusted.start([call('1', 'speak')], 'done')
    await agent.run({ prompt: 'go' })
    expect(resultsOf(agent.turns)).toEqual(['old'])
    await at.write('project/src/words.mjs', `export const words = 'new'`)
    const again = await open(at, { who: person([]) })
    await again.start('done').run({ prompt: 'go' })
    expect(states(again.layers)).toContain('speak project pending')
  })

  test('TR-08 does not lend its trust to a repository inside of it', async () => {
    const { at, canary } = await place()
    ;(await open(at, { who: person(['trust']) })).project.dispose()
    await mkdir(join(at.project, 'inner'))
    await rename(join(at.project, '.libero'), join(at.project, 'inner/.libero'))
    const inner = await open({ ...at, project: join(at.project, 'inner') }, { who: person([]) })
    await inner.start('done').run({ prompt: 'go' })
    expect(inner.project.state).toBe('restricted')
    expect(existsSync(canary)).toBe(false)
  })

  test('B034 TR-10 gets no approval of the tool whose name it takes, and its prompt says where it comes from', async () => {
    const at = await world()
    await mkdir(join(at.project, '.libero/tools'), { recursive: true })
    const who = person(['trust', 'trust'], 'session')
    const fields = { gated: 'false', effects: '[]', deriveApprovalKey: `() => 'docs'` }
    const ungated = toolFile('read', fields)
    const before = await open(at, { who })
    const agent = before.start(
      [call('1', 'read', { n: 1 })],
      [call('2', 'read', { n: 2 })],
      'done',
      [call('3', 'read', { n: 3 })],
      'done',
    )
    await agent.run({ prompt: 'go' })
    expect(who.about('Approve')).toHaveLength(1)
    await at.write('project/.libero/tools/read.mjs', ungated)
    await before.layers.reload()
    // It is not accepted yet, so the name still refers to the other tool, with its approval.
    await agent.run({ prompt: 'go on' })
    expect([who.about('Approve').length, resultsOf(agent.turns)]).toEqual([1, ['bundled', 'bundled', 'bundled']])
    const after = await open(at, { who })
    const next = after.start([call('4', 'read')], 'done')
    await next.run({ prompt: 'go' })
    const [, shown] = who.about('Approve')
    expect(shown).toMatchObject({
      call: { origin: { layer: 'project' } },
      description: expect.stringMatching(/of the project .*in place of the one /),
    })
    expect(resultsOf(next.turns)).toEqual(['read ran'])
  })
})

describe('trust that is taken back', () => {
  const slow = toolFile('slow', {
    execute: `(args, host, signal) => new Promise(() => signal.addEventListener('abort', () => host.audit.write('aborted')))`,
    lifecycle: `{ deactivate: (host) => host.audit.write('deactivated'), dispose: (host) => host.audit.write('disposed') }`,
  })

  test('TR-19 stops a call under way, and all that would follow, within 5 s', async () => {
    const { at } = await place()
    await at.write('project/.libero/tools/slow.mjs', slow)
    const { start, list, layers, clock, audit, project } = await open(at, { who: person(['trust']) })
    const agent = start([call('1', 'slow')], [call('2', 'count')], 'done', [call('3', 'count')], 'done')
    const running = agent.run({ prompt: 'go' })
    const started = (): boolean => audit.records.some(({ event }) => event === 'ToolInvocationStarted')
    await until(started)
    await list.revoke(at.project)
    await clock.advance(5000)
    await until(() => project.revoked.aborted)
    await running
    expect(resultsOf(agent.turns)[0]).toContain('Cancellation/TrustRevoked: slow was stopped')
    expect(resultsOf(agent.turns)[1]).not.toContain('count ran')
    expect(project.isTrusted()).toBe(false)
    await agent.run({ prompt: 'again' })
    expect(states(layers)).toEqual(['read bundled active'])
    expect(resultsOf(agent.turns)[2]).not.toContain('count ran')
    const notes = audit.records.filter(({ event }) => event === 'ToolNote').map(({ details }) => details?.event)
    expect(notes).toEqual(['aborted', 'deactivated', 'disposed'])
  })

  test('while they are being loaded lets none of them be called', async () => {
    const { at } = await place()
    const { promise: mayLoad, resolve: letLoad } = Promise.withResolvers<void>()
    Object.assign(globalThis, { mayLoad })
    await at.write('project/.libero/tools/late.mjs', `await globalThis.mayLoad\n${toolFile('late')}`)
    const { start, list, clock, layers, project } = await open(at, { who: person(['trust']) })
    const agent = start([call('1', 'late')], [call('2', 'count')], 'done')
    const running = agent.run({ prompt: 'go' })
    await list.revoke(at.project)
    await clock.advance(5000)
    await until(() => project.revoked.aborted)
    letLoad()
    await running
    expect(resultsOf(agent.turns).filter((text) => text.includes('ran'))).toEqual([])
    await layers.reload()
    expect(states(layers)).toEqual(['read bundled active'])
  })
})

test('a project that is not trusted any more is not read again, whatever else says that it may be', async () => {
  const { at, canary } = await place()
  const layers = layeredTools({
    home: at.home,
    projectRoot: at.project,
    mayReadProject: async () => true,
    revoked: AbortSignal.abort(),
  })
  const agent = createAgent({ provider: scripted('done'), extensions: [layers] })
  onTestFinished(() => agent.destroy())
  await agent.run({ prompt: 'go' })
  expect([states(layers), existsSync(canary)]).toEqual([[], false])
})

test('TR-13 without a person to ask, its tools stay off, and the notice says how to grant them', async () => {
  const { at, canary } = await place()
  const { interact, close } = createAuthority()
  const list = createTrustList({ folder: join(at.home, 'config') })
  const project = await enterProject(at.project, { list, interact })
  expect([project.state, await project.mayReadTools()]).toEqual(['restricted', false])
  expect(project.notice).toContain('is not trusted: no person can be asked.')
  expect(project.notice).toContain('trustByDigest(')
  await trustByDigest(list, at.project, await projectDigest(at.project))
  const granted = await enterProject(at.project, { list, interact })
  onTestFinished(() => granted.dispose())
  const { mayReadTools: mayReadProject, revoked } = granted
  const layers = layeredTools({ home: at.home, projectRoot: at.project, mayReadProject, revoked })
  expect(existsSync(canary)).toBe(false)
  const agent = createAgent({ provider: scripted([call('1', 'count')], 'done'), extensions: [layers] })
  await agent.run({ prompt: 'go' })
  expect(resultsOf(agent.turns)).toEqual(['count ran'])
  await agent.destroy()
  await close()
})

test('a project that is gone loads nothing', async () => {
  const { at } = await place()
  const { start, layers } = await open(at, { who: person(['trust']) })
  await rm(at.project, { recursive: true })
  await start('done').run({ prompt: 'go' })
  expect(states(layers)).toEqual(['read bundled active'])
})
