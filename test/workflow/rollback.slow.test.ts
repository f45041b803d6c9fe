import { execFileSync } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { type EntryBody, onFailpoint } from '../../src/core/log.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { type SnapshotNote, TurnSnapshots } from '../../src/plugins/turn-snapshots.ts'
import { FileHistory } from '../../src/snapshots/file-history.ts'
import { call } from '../../src/testing/scripted.ts'
import { writeFile as writeFileTool } from '../../src/tools/write-file.ts'
import { MessageFiles } from '../../src/workflow/rollback/message-files.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { definition, world } from './kit.ts'

// Each of them runs git many times.
const test = testInTurns(3)

const writing = definePlugin({ toolId: 'writing', displayName: '', description: '', tools: () => [writeFileTool] })
const write = (id: string, path: string, content: string) => [call(id, 'write_file', { path, content })]

async function garden(isRepository = true): Promise<string> {
  const folder = await temporary('rollback-')
  await writeFile(join(folder, 'plan.txt'), 'sow\n')
  if (isRepository)
    execFileSync('git', ['init', '-q'], {
      cwd: folder,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' },
    })
  return folder
}

const read = (folder: string, name: string) => readFile(join(folder, name), 'utf8').catch(() => undefined)

test('D047 CK15 the files are restored to before a turn, also in another process; later changes of others stay', async () => {
  const folder = await garden()
  const options = {
    definitions: [definition('writing')],
    plugins: [writing],
    execution: createProcessContext({ cwd: folder }),
    snapshots: { store: await temporary('snapshots-') },
  }
  const first = world(
    [
      write('1', 'plan.txt', 'dig\n'),
      'Dug.',
      write('2', 'beds.txt', 'two\n'),
      write('3', 'plan.txt', 'water\n'),
      'Watered.',
    ],
    options,
  )
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.sendMsgToAgent(id, 'Dig')
  await first.workflow.sendMsgToAgent(id, 'Water')
  await first.workflow.close()

  const { workflow } = first.again()
  const said = (await workflow.getMessages(id)).filter(({ role }) => role === 'user')
  expect(said.map(({ metadata }) => Object.keys(metadata?.beforeCommitMap ?? {}))).toEqual([['.'], ['.']])
  expect(await workflow.planRollback(id, said[1]!.id)).toMatchObject({
    restore: ['plan.txt'],
    delete: ['beds.txt'],
    conflicts: [],
  })
  await workflow.rollback(id, said[1]!.id)
  expect([await read(folder, 'plan.txt'), await read(folder, 'beds.txt')]).toEqual(['dig\n', undefined])
  expect((await workflow.getMessages(id)).find((one) => one.id === said[1]!.id)?.metadata?.rolledBack).toBe(true)

  await writeFile(join(folder, 'plan.txt'), 'my own words\n')
  const kept = await workflow.rollback(id, said[0]!.id)
  expect(kept.conflicts.map(({ path }) => path)).toEqual(['plan.txt'])
  expect(await read(folder, 'plan.txt')).toBe('my own words\n')
  await workflow.rollback(id, said[0]!.id, { force: true })
  expect(await read(folder, 'plan.txt')).toBe('sow\n')

  // What force overwrote comes back, and what was written since stays.
  await writeFile(join(folder, 'new.txt'), 'new\n')
  const undone = await workflow.undoRollback(id, said[0]!.id)
  expect([undone.restored, undone.conflicts]).toEqual([['plan.txt'], []])
  expect([await read(folder, 'plan.txt'), await read(folder, 'new.txt')]).toEqual(['my own words\n', 'new\n'])
  expect((await workflow.getMessages(id))[0]?.metadata?.rolledBack).toBe(false)
  await expect(workflow.undoRollback(id, said[0]!.id)).rejects.toThrow('there is nothing to undo')
})

test('D047 messages that are rolled back with an earlier one are marked with it, and only then', async () => {
  const folder = await garden()
  const { workflow } = world(
    [
      ...[write('1', 'plan.txt', 'dig\n'), 'Dug.', write('2', 'plan.txt', 'water\n'), 'Watered.'],
      ...[write('3', 'plan.txt', 'reap\n'), 'Reaped.'],
    ],
    {
      ...{
        definitions: [definition('writing')],
        plugins: [writing],
        snapshots: { store: await temporary('snapshots-') },
      },
      execution: createProcessContext({ cwd: folder }),
    },
  )
  const { id } = await workflow.createAgent('helper')
  const people = async () => (await workflow.getMessages(id)).filter(({ role }) => role === 'user')
  const marks = async () => (await people()).map(({ metadata }) => metadata?.rolledBack)
  await workflow.sendMsgToAgent(id, 'Dig')
  await workflow.sendMsgToAgent(id, 'Water')
  const [dig, water] = (await people()).map((one) => one.id) as [string, string]

  expect(await workflow.rollback(id, dig)).toMatchObject({ restored: ['plan.txt'], conflicts: [] })
  expect(await marks()).toEqual([true, true])
  const withIt = `the files were already rolled back to before the message "${dig}", including the changes of the message "${water}"`
  await expect(workflow.rollback(id, water)).rejects.toThrow(withIt)
  await expect(workflow.planRollback(id, water)).rejects.toThrow(withIt)
  await expect(workflow.undoRollback(id, water)).rejects.toThrow(`undoRollback with "${dig}" undoes that`)
  await expect(workflow.rollback(id, dig)).rejects.toThrow(`already rolled back to before the message "${dig}"`)
  expect(await read(folder, 'plan.txt')).toBe('sow\n')

  await workflow.undoRollback(id, dig)
  expect([await marks(), await read(folder, 'plan.txt')]).toEqual([[false, false], 'water\n'])

  // One that went back by itself stays so when the other is undone, and new work goes back again.
  await workflow.rollback(id, water)
  await workflow.rollback(id, dig)
  await workflow.undoRollback(id, dig)
  expect([await marks(), await read(folder, 'plan.txt')]).toEqual([[false, true], 'dig\n'])
  await workflow.rollback(id, dig)
  await workflow.sendMsgToAgent(id, 'Reap')
  expect(await workflow.rollback(id, dig)).toMatchObject({ restored: ['plan.txt'], conflicts: [] })
  expect([await marks(), await read(folder, 'plan.txt')]).toEqual([[true, true, true], 'sow\n'])
})

test('D047 without git a rollback is refused with the reason', async () => {
  const folder = await garden(false)
  const bin = await temporary('bin-')
  for (const name of ['sh', 'tr'])
    await symlink(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name))
  const execution = createProcessContext({ cwd: folder, env: { PATH: bin } })
  const { workflow } = world([write('1', 'plan.txt', 'dig\n'), 'Dug.'], {
    definitions: [definition('writing')],
    plugins: [writing],
    execution,
    snapshots: { store: await temporary('snapshots-') },
  })
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'Dig')).state).toBe('completed')
  const [said] = await workflow.getMessages(id)
  await expect(workflow.rollback(id, said!.id)).rejects.toThrow(/cannot be rolled back.*git/s)
  expect(await read(folder, 'plan.txt')).toBe('dig\n')
})

test('D047 changes of others between two messages are kept: silently if the agent did not change the file, else reported, each time', async () => {
  const folder = await garden()
  const execution = createProcessContext({ cwd: folder })
  const { workflow } = world(
    [write('1', 'plan.txt', 'dig\n'), 'Dug.', write('2', 'plan.txt', 'water\n'), 'Watered.', 'You are welcome.'],
    {
      definitions: [definition('writing')],
      plugins: [writing],
      execution,
      snapshots: { store: await temporary('snapshots-') },
    },
  )
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Dig')
  await writeFile(join(folder, 'diary.txt'), 'mine\n')
  await writeFile(join(folder, 'plan.txt'), 'dig deeper\n')
  await workflow.sendMsgToAgent(id, 'Water')
  await workflow.sendMsgToAgent(id, 'Thanks')
  const [first] = await workflow.getMessages(id)
  const plan = await workflow.planRollback(id, first!.id)
  expect(plan.conflicts.map(({ path }) => path)).toEqual(['plan.txt'])
  for (let times = 0; times < 2; times++) {
    const { conflicts } = await workflow.rollback(id, first!.id)
    expect(conflicts.map(({ path }) => path)).toEqual(['plan.txt'])
    expect([await read(folder, 'plan.txt'), await read(folder, 'diary.txt')]).toEqual(['dig deeper\n', 'mine\n'])
  }
  await workflow.rollback(id, first!.id, { force: true })
  expect([await read(folder, 'plan.txt'), await read(folder, 'diary.txt')]).toEqual(['sow\n', 'mine\n'])
})

test('CK15 a rollback that is cut off is finished before the next work of the agent, or by the next call, and it is said', async () => {
  const folder = await garden()
  const first = world(
    [write('1', 'plan.txt', 'dig\n'), 'Dug.', write('2', 'plan.txt', 'water\n'), 'Watered.', 'Yes?', 'Still here.'],
    {
      ...{ definitions: [definition('writing')], plugins: [writing] },
      ...{ execution: createProcessContext({ cwd: folder }), snapshots: { store: await temporary('snapshots-') } },
    },
  )
  const { workflow, errors } = first
  const { id } = await workflow.createAgent('helper')
  for (const text of ['Dig', 'Water']) await workflow.sendMsgToAgent(id, text)
  const people = async () => (await workflow.getMessages(id)).filter(({ role }) => role === 'user')
  const water = (await people())[1]!.id
  const state = async () => [await read(folder, 'plan.txt'), (await people())[1]?.metadata?.rolledBack]
  const cutOff = async (work: () => Promise<unknown>): Promise<void> => {
    onFailpoint((name) => {
      if (name === 'rollback.staged') throw new Error('power cut')
    })
    await expect(work()).rejects.toThrow('power cut')
    onFailpoint(undefined)
  }

  await cutOff(() => workflow.rollback(id, water))
  expect(await state()).toEqual(['water\n', undefined])
  await workflow.sendMsgToAgent(id, 'Hello?')
  expect(await state()).toEqual(['dig\n', true])
  await cutOff(() => workflow.undoRollback(id, water))
  expect(await workflow.undoRollback(id, water)).toMatchObject({ restored: ['plan.txt'], conflicts: [] })
  expect(await state()).toEqual(['water\n', false])
  expect(errors.map(({ message }) => message)).toEqual([
    `a rollback of agent ${id} was interrupted, and is finished now; paths restored: 1`,
    `the undo of a rollback of agent ${id} was interrupted, and is finished now; paths restored: 1`,
  ])
  await workflow.sendMsgToAgent(id, 'Hello?')
  expect(errors).toHaveLength(2)
})

test('CK15 what a person changed between a message whose work was cut off and the next one is not taken for that work, except by force', async () => {
  const folder = await garden()
  const execution = createProcessContext({ cwd: folder })
  const history = new FileHistory({ execution, clock: systemClock, store: await temporary('snapshots-') })
  const recorded = new TurnSnapshots()
  const files = new MessageFiles({ agentId: 'a', files: history, recorded, onError: () => {} })
  const append = (entry: EntryBody): void => {
    if (entry.type === 'state') recorded.apply(entry.value as SnapshotNote)
  }
  const begin = async (id: string): Promise<void> => {
    await files.takeBefore()
    await files.recordBefore([{ id, role: 'user', runId: 'r', createdAt: 0, content: [] }], append)
  }
  await begin('1') // its process is killed
  await writeFile(join(folder, 'plan.txt'), 'my own words\n')
  await begin('2')
  await files.recordAfter(append)
  await expect(files.plan('1')).rejects.toMatchObject({ code: 'cut_off' })
  await expect(files.rollback('1', { force: false, append })).rejects.toMatchObject({ code: 'cut_off' })
  expect(await read(folder, 'plan.txt')).toBe('my own words\n')
  await files.rollback('1', { force: true, append })
  expect(await read(folder, 'plan.txt')).toBe('sow\n')
  await history.close()
})

test('a process that forwards a message to another one takes no snapshot, and reports nothing', async () => {
  const folder = await garden()
  const held = Promise.withResolvers<string>()
  const execution = createProcessContext({ cwd: folder })
  const first = world(['One.', () => held.promise, 'Both.'], {
    execution,
    snapshots: { store: await temporary('snapshots-') },
  })
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.sendMsgToAgent(id, 'hello')
  const working = first.workflow.sendMsgToAgent(id, 'more')
  await expect.poll(() => first.provider.requests.length).toBe(2)
  const second = first.again()
  expect((await second.workflow.sendMsgToAgent(id, 'and this')).state).toBe('submitted')
  expect(second.errors).toEqual([])
  held.resolve('Two.')
  await working
})
