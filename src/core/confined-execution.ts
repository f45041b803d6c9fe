import { type Confinement, type ExecutionContext, noSandbox } from './execution.ts'

/** The same context, whose commands are all confined. */
export function confinedExecution(execution: ExecutionContext, confinement: Confinement): ExecutionContext {
  return withExec(execution, async (handle, command, options) => {
    if (!execution.sandbox) throw noSandbox(execution.type, confinement.profile)
    return execution.exec(handle, command, { ...options, confinement })
  })
}

/** The same context, in which `check` is awaited before the first command; if it rejects, no command starts. */
export function checkedExecution(execution: ExecutionContext, check: () => Promise<void>): ExecutionContext {
  let checked: Promise<void> | undefined
  return withExec(execution, async (handle, command, options) => {
    await (checked ??= check())
    return execution.exec(handle, command, options)
  })
}

const innerContexts = new WeakMap<ExecutionContext, ExecutionContext>()

/** The context that all calls share, given the one that a call got. Queues of work on its files belong to it. */
export function sharedContextOf(execution: ExecutionContext): ExecutionContext {
  const inner = innerContexts.get(execution)
  return inner ? sharedContextOf(inner) : execution
}

function withExec(execution: ExecutionContext, exec: ExecutionContext['exec']): ExecutionContext {
  const { stat, openFile, sandbox } = execution
  const changed: ExecutionContext = {
    type: execution.type,
    capabilities: execution.capabilities,
    spawn: (config) => execution.spawn(config),
    exec,
    readFile: (handle, path) => execution.readFile(handle, path),
    writeFile: (handle, path, content, options) => execution.writeFile(handle, path, content, options),
    listFiles: (handle, path) => execution.listFiles(handle, path),
    destroy: (handle) => execution.destroy(handle),
    ...(stat && { stat: (handle, path) => stat.call(execution, handle, path) }),
    ...(openFile && { openFile: (handle, path) => openFile.call(execution, handle, path) }),
    ...(sandbox && { sandbox: (handle) => sandbox.call(execution, handle) }),
  }
  innerContexts.set(changed, execution)
  return changed
}
