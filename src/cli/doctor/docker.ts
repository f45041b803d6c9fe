import { request } from 'node:http'
import { join } from 'node:path'
import { broken, type Check, missing, ok } from './check.ts'

/** Whether `--context docker` works: the package is there, and the engine answers on its socket. */
export const docker: Check = {
  name: 'docker',
  async look({ io, signal }) {
    const hasPackage = await import('dockerode').then(
      () => true,
      () => false,
    )
    const { DOCKER_HOST: host } = io.env
    if (host && !host.startsWith('unix://'))
      return ok(`DOCKER_HOST is ${host}; it may be another machine, and was not asked`)
    const sockets = host
      ? [host.slice('unix://'.length)]
      : ['/var/run/docker.sock', join(io.userHome, '.docker/run/docker.sock')]
    const answers = await Promise.all(sockets.map((socketPath) => ping(socketPath, signal)))
    const at = sockets.find((_, i) => answers[i] === 'ok')
    if (at === undefined && answers.includes('EACCES'))
      return broken('you may not use its socket', 'sudo usermod -aG docker $USER, then log in again')
    if (at === undefined)
      return missing(
        'no engine answers',
        'install and start Docker (docker info must work), from https://docs.docker.com/engine/install',
      )
    return hasPackage
      ? ok(`it answers at ${at}`)
      : missing('the package dockerode is not there', 'npm install dockerode')
  },
}

/** `ok`, or what the system says. */
function ping(socketPath: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/_ping', signal, timeout: 3000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? 'ok' : `HTTP ${response.statusCode}`)
    })
    asked.on('timeout', () => asked.destroy(new Error('it took too long')))
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    asked.end()
  })
}
