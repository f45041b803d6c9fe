/**
 * Variables with which the executable of this process runs code as Node or Bun would, although an application was built into
 * it: Electron, and `bun build --compile`.
 */
export const asRuntime = 'ELECTRON_RUN_AS_NODE=1 BUN_BE_BUN=1'

/** Whether the executable of this process is a single executable application of Node, which can only run itself again. */
export const isSingleExecutable = (): boolean => process.getBuiltinModule('node:sea')?.isSea() === true
