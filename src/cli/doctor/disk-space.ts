import { stat, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { broken, type Check, ok } from './check.ts'

const leastBytes = 100 * 1024 * 1024

/** Room for sessions, and for what tools write into temporary files. */
export const diskSpace: Check = {
  name: 'disk',
  isEssential: true,
  async look({ io: { home } }) {
    const places = await Promise.all([home, tmpdir()].map(async (path) => ({ path, free: await freeAt(path) })))
    const full = places.filter(({ free }) => free < leastBytes)
    const says = places.map(({ path, free }) => `${shown(free)} free at ${path}`).join(', ')
    return full.length === 0 ? ok(says) : broken(says, `make room at ${full.map(({ path }) => path).join(' and ')}`)
  },
}

async function freeAt(path: string): Promise<number> {
  let place = path
  for (let i = 0; i < 100 && (await stat(place).catch(() => undefined)) === undefined; i++) place = dirname(place)
  const { bavail, bsize } = await statfs(place)
  return bavail * bsize
}

const shown = (bytes: number): string =>
  bytes < 10 * 1024 ** 3 ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${Math.floor(bytes / 1024 ** 3)} GiB`
