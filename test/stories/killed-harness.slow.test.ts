import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAgent, createJsonlStore, loadSession } from '../../src/index.ts'
import { processIds, readOfProcess, send } from '../../src/platform/leftover-processes.ts'
import { scripted, texts } from '../../src/testing/index.ts'
import { temporary } from '../temporary.ts'

const onLinux = process.platform === 'linux'
if (!onLinux) console.warn('Not Linux: what a killed process leaves running cannot be seen, and is not tested')

describe.skipIf(!onLinux)('R04 what runs when the harness is killed with SIGKILL', () => {
  test('R04 is ended by the process that resumes the session, which tells the model', async () => {
    const { folder, harness } = await harnessAtWork()
    stopKeeperOf(harness)
    await kill(harness)
    expect(writersTo(folder)).not.toEqual([])
    expect(await resumed(folder)).toMatch(
      /Interrupted: .* Its command was still running, and was ended now: .*(command\.txt|sleep)/,
    )
    expect(writersTo(folder)).toEqual([])
  })

  test('R04 is ended by the keeper before anything resumes it', async () => {
    const { folder, harness } = await harnessAtWork()
    await kill(harness)
    await vi.waitFor(() => expect(writersTo(folder)).toEqual([]), { timeout: 15_000, interval: 100 })
    expect(await resumed(folder)).toMatch(/Interrupted: .* No command of it was found running on this machine\./)
  })

  test('R04 is left alone, and named, while the process that started it lives', async () => {
    const { folder, harness } = await harnessAtWork()
    const said = await resumed(folder, { takeOver: true })
    expect(said).toContain(`Its command is still running, under process ${harness.pid} of this machine`)
  })
})

async function harnessAtWork(): Promise<{ folder: string; harness: ChildProcess }> {
  const folder = await temporary('killed-harness-')
  const child = fileURLToPath(new URL('killed-harness-child.ts', import.meta.url))
  const harness = spawn(process.execPath, ['--conditions=libero-source', child, folder], { stdio: 'inherit' })
  onTestFinished(() => {
    harness.kill('SIGKILL')
    for (const pid of writersTo(folder)) send(pid, 'SIGKILL')
  })
  const isAtWork = (): boolean => ['job', 'command'].every((name) => existsSync(`${folder}/${name}.txt`))
  await vi.waitFor(() => expect(isAtWork()).toBe(true), { timeout: 20_000, interval: 20 })
  return { folder, harness }
}

async function kill(harness: ChildProcess): Promise<void> {
  harness.kill('SIGKILL')
  await once(harness, 'exit')
}

/** As if the keeper had been killed as well, without the harness having time to start another one. */
function stopKeeperOf(harness: ChildProcess): void {
  const isKeeper = (pid: number): boolean =>
    (readOfProcess(pid, 'cmdline')?.includes('libero-keeper') &&
      readOfProcess(pid, 'stat')?.split(') ').at(-1)?.split(' ')[1] === String(harness.pid)) ??
    false
  const keepers = [...(processIds() ?? [])].filter(isKeeper)
  expect(keepers).toHaveLength(1)
  for (const pid of keepers) {
    send(pid, 'SIGSTOP')
    onTestFinished(() => void send(pid, 'SIGKILL'))
  }
}

function writersTo(folder: string): number[] {
  return [...(processIds() ?? [])].filter((pid) => readOfProcess(pid, 'cmdline')?.includes(`echo tick >> ${folder}/`))
}

/** Goes on with the session here, and gives what the model was told. */
async function resumed(folder: string, options: { takeOver?: boolean } = {}): Promise<string> {
  const session = await loadSession(createJsonlStore({ dir: `${folder}/sessions` }), 's', options)
  const agent = createAgent({ provider: scripted('I see.'), session })
  await agent.run({ prompt: 'Go on.' })
  await agent.destroy()
  return texts(session.turns).join('\n')
}
