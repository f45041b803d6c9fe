import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Flooded, FloodTask, Got } from './flood-child.ts'

/** A process streams much while its reader, another process, is stopped, or while there is none. */
export async function flood(options: {
  readonly folder: string
  readonly reports: number
  readonly reader: 'stopped' | 'none'
}): Promise<{ readonly flooded: Flooded; readonly got?: Got }> {
  const { folder, reports } = options
  const task = { store: { kind: 'SQLite', folder }, offers: join(folder, 'run'), reports } as const
  const started: Started[] = []
  const begin = (role: FloodTask['role']): Started => {
    started.push(start({ ...task, role }))
    return started.at(-1)!
  }
  try {
    const writer = begin('write')
    await writer.says('is there')
    const reader = options.reader === 'none' ? undefined : begin('read')
    await reader?.says('there')
    writer.child.send('go on')
    await reader?.says('joined')
    await writer.says('has joined')
    reader?.child.kill('SIGSTOP')
    writer.child.send('go on')
    const flooded = (await writer.tells()) as Flooded
    await writer.says('reads again')
    reader?.child.kill('SIGCONT')
    await reader?.says('has the last')
    writer.child.send('go on')
    const got = (await reader?.tells()) as Got | undefined
    return { flooded, ...(got && { got }) }
  } finally {
    for (const { child } of started) child.kill('SIGKILL')
  }
}

interface Started {
  readonly child: ChildProcess
  /** Waits until it says this. */
  says(words: string): Promise<unknown>
  /** What it tells next that is more than words. */
  tells(): Promise<unknown>
}

function start(task: FloodTask): Started {
  const file = fileURLToPath(new URL('flood-child.ts', import.meta.url))
  const child = fork(file, [JSON.stringify(task)], {
    execArgv: ['--conditions=libero-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const said: unknown[] = []
  let isOver = false
  let look = (): void => {}
  child.on('message', (what) => {
    said.push(what)
    look()
  })
  child.on('exit', () => {
    isOver = true
    look()
  })
  const take = async (isIt: (what: unknown) => boolean): Promise<unknown> => {
    for (;;) {
      const at = said.findIndex(isIt)
      if (at >= 0) return said.splice(at, 1)[0]
      if (isOver) throw new Error(`the process that should ${task.role} ended too early`)
      await new Promise<void>((resolve) => {
        look = resolve
      })
    }
  }
  return {
    child,
    says: (words) => take((what) => what === words),
    tells: () => take((what) => typeof what === 'object'),
  }
}
