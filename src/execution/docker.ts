import { type ExecutionContext, type ExecutionHandle, resolvePosix } from '../core/execution.ts'
import { runOnSeparateMachine } from './confinement/separate-machine.ts'
import { type DockerClient, type DockerContainer, dockerClient } from './docker/client.ts'
import {
  containerPlanner,
  type DockerContextOptions,
  ensureImage,
  removeContainer,
  startContainer,
} from './docker/container.ts'
import { execInContainer } from './docker/exec.ts'
import { type RunningContainer, runInContainer } from './docker/run.ts'
import { type ShellFiles, shellFiles } from './files/shell-files.ts'

export type { ExecutionContext } from '../core/execution.ts'
export type { DockerContextOptions } from './docker/container.ts'

/** Tools run in a container, one for each handle, which is removed with it. */
export function createDockerContext(options: DockerContextOptions): ExecutionContext {
  const planFor = containerPlanner(options)
  const { image, network = 'bridge', pull = 'missing', user } = options
  const handles = new Map<string, HandleState>()
  let client: Promise<DockerClient> | undefined
  let ready: Promise<void> | undefined

  async function prepared(): Promise<DockerClient> {
    client ??= dockerClient(options.docker)
    const docker = await client
    // After a failure the next handle tries again.
    ready ??= ensureImage(docker, image, pull).catch((error) => {
      ready = undefined
      throw error
    })
    await ready
    return docker
  }

  function stateOf({ id }: ExecutionHandle): HandleState {
    const state = handles.get(id)
    if (!state || state.destroyed.aborted)
      throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return state
  }

  return {
    type: 'docker',
    capabilities: { shell: true, filesystem: true, network: network !== 'none', gpu: false },

    async spawn(config = {}) {
      const plan = planFor(config)
      const ending = new AbortController()
      const runningOf = (container: DockerContainer): RunningContainer => ({
        container,
        user,
        destroyed: ending.signal,
      })
      const isUp = async (container: DockerContainer) =>
        (await runInContainer(runningOf(container), ['sh', '-c', ':'])).exitCode === 0
      const container = await startContainer(await prepared(), plan, isUp)
      const running = runningOf(container)
      const id = container.id.slice(0, 12)
      const exec: Parameters<typeof shellFiles>[0]['exec'] = (script, { input } = {}) =>
        runInContainer(running, ['sh', '-c', script], { input })
      handles.set(id, { ...running, env: plan.env, ending, files: shellFiles({ keyPrefix: `docker:${id}`, exec }) })
      return { id, type: 'docker', cwd: plan.cwd }
    },

    async exec(handle, command, { cwd = '.', env, confinement, ...others } = {}) {
      const state = stateOf(handle)
      const at = resolvePosix(handle.cwd, cwd)
      return runOnSeparateMachine('docker', confinement, () =>
        execInContainer(state, command, { ...others, cwd: at, env: { ...state.env, ...env } }),
      )
    },
    sandbox: async () => ({ profiles: ['workspace-write'], by: 'docker' }),

    readFile: async (handle, path) => stateOf(handle).files.readFile(handle.cwd, path),
    writeFile: async (handle, path, content, how) => stateOf(handle).files.writeFile(handle.cwd, path, content, how),
    listFiles: async (handle, path) => stateOf(handle).files.listFiles(handle.cwd, path),
    stat: async (handle, path) => stateOf(handle).files.stat(handle.cwd, path),
    openFile: async (handle, path) => stateOf(handle).files.openFile(handle.cwd, path),

    async destroy({ id }) {
      const state = handles.get(id)
      if (!state) return
      state.ending.abort()
      await removeContainer(state.container)
      handles.delete(id)
    },
  }
}

interface HandleState extends RunningContainer {
  readonly env: Readonly<Record<string, string>>
  readonly ending: AbortController
  readonly files: ShellFiles
}
