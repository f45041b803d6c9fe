import type { ExecOptions, ExecutionContext } from '../core/execution.ts'
import { type ClientFileSystem, clientFiles } from './client-files.ts'
import { type CreateTerminal, runInTerminal } from './client-terminals.ts'

/** What a client offers to tools. */
export interface ClientServices extends ClientFileSystem {
  readonly createTerminal?: CreateTerminal
  /** Told which terminal the command of a call runs in. */
  readonly onTerminal?: (callId: string, terminalId: string) => void
  /** How often new output of terminals is asked for, in milliseconds. Default 500. */
  readonly pollMs?: number
}

/**
 * The context of this machine, in which the client reads and writes files, and commands run in its terminals. A command that
 * must be confined, or that a tool needs for its own work, runs here: no terminal of a client has a sandbox.
 */
export function clientExecution(base: ExecutionContext, services: ClientServices): ExecutionContext {
  const { createTerminal: create, onTerminal: onStart, pollMs } = services
  const { stat, openFile, sandbox } = base
  const running = new Map<string, Set<AbortController>>()
  const environments = new Map<string, Readonly<Record<string, string>>>()

  const exec: ExecutionContext['exec'] = async (handle, command, options = {}) => {
    if (!create || !isForTerminal(options)) return base.exec(handle, command, options)
    const { cwd = '.', env, signal } = options
    const stop = new AbortController()
    const own = running.get(handle.id) ?? new Set()
    running.set(handle.id, own.add(stop))
    try {
      const folder = await base.stat?.(handle, cwd)
      if (folder?.kind === 'file') throw new Error(`${cwd} is a file; run it in a folder`)
      return await runInTerminal(
        handle,
        command,
        {
          ...options,
          cwd: folder?.path ?? cwd, // as it was judged, not resolved a second time
          env: { ...environments.get(handle.id), ...env },
          signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
        },
        { create, ...(onStart && { onStart }), ...(pollMs !== undefined && { pollMs }) },
      )
    } finally {
      own.delete(stop)
    }
  }

  return {
    type: base.type,
    capabilities: base.capabilities,
    async spawn(config) {
      const handle = await base.spawn(config)
      if (config?.env) environments.set(handle.id, config.env)
      return handle
    },
    exec,
    readFile: (handle, path) => base.readFile(handle, path),
    writeFile: (handle, path, content, options) => base.writeFile(handle, path, content, options),
    listFiles: (handle, path) => base.listFiles(handle, path),
    async destroy(handle) {
      for (const stop of running.get(handle.id) ?? []) stop.abort(new Error('The execution handle was destroyed'))
      running.delete(handle.id)
      environments.delete(handle.id)
      await base.destroy(handle)
    },
    ...(stat && { stat: (handle, path) => stat.call(base, handle, path) }),
    ...(openFile && { openFile: (handle, path) => openFile.call(base, handle, path) }),
    ...(sandbox && { sandbox: (handle) => sandbox.call(base, handle) }),
    ...clientFiles(base, services),
  }
}

/** A command that a call is about, and that needs nothing which a terminal cannot give. */
const isForTerminal = ({ call, confinement, input, programs }: ExecOptions): boolean =>
  call !== undefined && confinement === undefined && input === undefined && programs === undefined
