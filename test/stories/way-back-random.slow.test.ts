import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { randomOf } from '../../crash/random.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { createMemoryStore, createSession } from '../../src/sessions/index.ts'
import { createSnapshots } from '../../src/snapshots/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { shell, writeFile } from '../../src/tools/index.ts'
import { picture } from '../folder-picture.ts'
import { rounds, sampleOf } from '../soak.ts'
import { temporary } from '../temporary.ts'

test('CK01 CK03 files that a tool, a command, its child process and a person changed in turn go back to each point as they were', async () => {
  for (let round = 0; round < rounds(1, 12); round++) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = randomOf(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const folder = await temporary('random-')
    const execution = createProcessContext({ cwd: folder })
    const snapshots = createSnapshots({ execution, store: await temporary('snapshots-') })
    const session = await createSession({ store: createMemoryStore() })
    const points: { readonly head: number; readonly files: Record<string, string> }[] = []
    const point = () => points.push({ head: session.log.head, files: worked(folder) })
    const person = (line: string): void => void execFileSync('sh', ['-c', line], { cwd: folder })

    const edit = (): string => {
      const name = pick(names)
      const above = name.includes('/') ? `rm -f d; mkdir -p ${name.slice(0, name.lastIndexOf('/'))}; ` : ''
      const word = Math.floor(random() * 5)
      return pick([
        ...[`${above}rm -rf ${name}; echo ${word} > ${name}`, `${above}rm -rf ${name}; ln -s ${word} ${name}`],
        ...[`rm -rf ${name}`, `[ ! -f ${name} ] || [ -L ${name} ] || chmod +x ${name}`, `mkdir -p empty/${word}`],
        `[ ! -f ${name} ] || mv ${name} moved${word}`,
      ])
    }
    const work = (id: string) =>
      pick([
        () => call(id, 'write_file', { path: `by/tool${pick(['1', '2'])}`, content: id }),
        () => call(id, 'shell', { command: edit() }),
        () => call(id, 'shell', { command: `sh -c '${edit()}' & wait` }),
        () => call(id, 'meanwhile', { line: edit() }),
      ])()

    const noted = <Tool extends typeof shell>(one: Tool): Tool => ({
      ...one,
      execute: (input, ctx) => {
        point()
        return one.execute(input, ctx)
      },
    })
    const calls = Array.from({ length: 8 }, (_, i) => [work(`${i}`)])
    const provider = scripted(...calls.slice(0, 4), 'Done.', ...calls.slice(4), 'Done.')
    const meanwhile = tool('meanwhile', ({ line }) => {
      person(String(line))
      return 'done'
    })
    const agent = createAgent({
      ...{ provider, session, execution, extensions: [snapshots.extension] },
      tools: { shell: noted(shell), write_file: noted(writeFile), meanwhile: noted(meanwhile) },
    })
    person('mkdir mine by; echo 1 > mine/a; echo 1 > a')
    for (const prompt of ['One', 'Two']) {
      await agent.run({ prompt })
      person(`echo ${prompt} > mine/b; echo ${prompt} >> mine/a`)
    }
    await agent.destroy()

    const last = [worked(folder), picture(folder, 'mine')]
    const notes: number[] = []
    for await (const { type, seq, ...entry } of session.entries())
      if (type === 'state' && 'owner' in entry && entry.owner === 'snapshot') notes.push(seq)
    expect([seed, points.length]).toEqual([seed, 8])
    for (const { head, files } of sampleOf(points, 2)) {
      const to = notes.findLast((seq) => seq <= head)! - 1
      const { files: result } = await snapshots.rollback(session, { to, scope: 'files' })
      expect([seed, to, result?.conflicts, result?.failed]).toEqual([seed, to, [], []])
      expect([seed, to, worked(folder), picture(folder, 'mine')]).toEqual([seed, to, files, last[1]])
      await snapshots.undoRollback(session)
      expect([seed, to, worked(folder), picture(folder, 'mine')]).toEqual([seed, to, ...last])
    }
    await snapshots.close()
  }
}, 600_000)

const names = ['a', 'b', 'd', 'd/e', 'd/f/g', 'l']

/** What a run may have changed: all but what a person changes between runs. */
function worked(folder: string): Record<string, string> {
  return Object.fromEntries(Object.entries(picture(folder)).filter(([name]) => !name.startsWith('mine')))
}
