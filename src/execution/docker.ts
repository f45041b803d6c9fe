import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { resolvePosix } from '../core/execution.ts'
import { type DockerClient, type DockerContainer, dockerClient } from './docker/client.ts'
import { containerPlanner, removeContainer, startContainer } from './docker/container.ts'
import { execInContainer } from './docker/exec.ts'
import { ensureImage } from './docker/image.ts'
import type { ContainerOptions, DockerEngine, PullPolicy } from './docker/options.ts'
import { type ContainerPlace, runInContainer } from './docker/run.ts'
import { type ShellFiles, shellFiles } from './files/shell-files.ts'

export type { ExecutionContext } from '../core/execution.ts'
export type { ContainerOptions, DockerEngine, DockerLimits, PullPolicy } from './docker/options.ts'

export interface DockerContextOptions extends ContainerOptions {
  /** An instance of dockerode, or the options for one. Default: the engine of this machine, or DOCKER_HOST. */
  readonly docker?: DockerEngine
  /** Default `missing`. */
  readonly pull?: PullPolicy
}

/** Tools run in a container of their own: one for each handle, removed with it. */
export function createDockerContext(options: DockerContextOptions): ExecutionContext {
  const planFor = containerPlanner(options)
  const { image, network = 'bridge', pull = 'missing', user } = options
  const places = new Map<string, Place>()
  let client: Promise<DockerClient> | undefined
  let ready: Promise<void> | undefined

  async function prepared(): Promise<DockerClient> {
    client ??= dockerClient(options.docker)
    const docker = await client
    // What failed may be tried again by the next handle.
    ready ??= ensureImage(docker, image, pull).catch((error) => {
      ready = undefined
      throw error
    })
    await ready
    return docker
  }

  function placeOf({ id }: ExecutionHandle): Place {
    const place = places.get(id)
    if (!place || place.destroyed.aborted)
      throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return place
  }

  return {
    type: 'docker',
    capabilities: { shell: true, filesystem: true, network: network !== 'none', gpu: false },

    async spawn(config = {}) {
      const plan = planFor(config)
      const ending = new AbortController()
      const placeFor = (container: DockerContainer): ContainerPlace => ({ container, user, destroyed: ending.signal })
      const isUp = async (container: DockerContainer) =>
        (await runInContainer(placeFor(container), ['sh', '-c', ':'])).exitCode === 0
      const container = await startContainer(await prepared(), plan, isUp)
      const place = placeFor(container)
      const id = container.id.slice(0, 12)
      const exec: Parameters<typeof shellFiles>[0]['exec'] = (script, { input } = {}) =>
        runInContainer(place, ['sh', '-c', script], { input })
      places.set(id, { ...place, env: plan.env, ending, files: shellFiles({ world: `docker:${id}`, exec }) })
      return { id, type: 'docker', cwd: plan.cwd }
    },

    async exec(handle, command, { cwd = '.', env, ...others } = {}) {
      const place = placeOf(handle)
      const at = resolvePosix(handle.cwd, cwd)
      return execInContainer(place, command, { ...others, cwd: at, env: { ...place.env, ...env } })
    },

    readFile: async (handle, path) => placeOf(handle).files.readFile(handle.cwd, path),
    writeFile: async (handle, path, content, how) => placeOf(handle).files.writeFile(handle.cwd, path, content, how),
    listFiles: async (handle, path) => placeOf(handle).files.listFiles(handle.cwd, path),
    stat: async (handle, path) => placeOf(handle).files.stat(handle.cwd, path),
    openFile: async (handle, path) => placeOf(handle).files.openFile(handle.cwd, path),

    async destroy({ id }) {
      const place = places.get(id)
      if (!place) return
      place.ending.abort()
      await removeContainer(place.container)
      places.delete(id)
    },
  }
}

interface Place extends ContainerPlace {
  readonly env: Readonly<Record<string, string>>
  readonly ending: AbortController
  readonly files: ShellFiles
}
