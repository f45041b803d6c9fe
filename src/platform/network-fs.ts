import { readFileSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../core/errors.ts'

/** Returns the mount table in the form of Linux' /proc/self/mountinfo, or undefined if there is none. */
export type ReadMountTable = () => string | undefined

/** Network file systems, on which locks and shared memory do not work as SQLite needs. */
const networkTypes =
  /^(nfs\d?|cifs|smb\w*|ncpfs?|9p|k?afs|coda|ceph|glusterfs|lustre|gpfs|beegfs\w*|orangefs|pvfs2|ocfs2|gfs2?|davfs2?|fuse\.(sshfs|ceph\S*|glusterfs|davfs2?|rclone|s3fs|gcsfuse|juicefs|smbnetfs|curlftpfs|nfs\S*|moosefs|mfs|seaweedfs|weed))$/

/** The type of the network file system of a folder. Undefined if it is local or unknown. */
export function networkFileSystemOf(folder: string, readTable: ReadMountTable = readMountTable): string | undefined {
  const table = readTable()
  if (table === undefined) return undefined
  const type = typeOfMount(table, nearestReal(folder))
  return type !== undefined && networkTypes.test(type) ? type : undefined
}

function readMountTable(): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return undefined
  }
}

/** The real path of the folder, or of the nearest existing folder above it. */
function nearestReal(folder: string): string {
  try {
    return realpathSync(folder)
  } catch (error) {
    const above = dirname(folder)
    if (codeOf(error) !== 'ENOENT' || above === folder) return folder
    return nearestReal(above)
  }
}

/** The type of the file system of a folder, according to a mount table. */
export function typeOfMount(table: string, folder: string): string | undefined {
  let longest = -1
  let type: string | undefined
  for (const line of table.split('\n')) {
    const [left, right] = line.split(' - ', 2)
    const point = left?.split(' ')[4]
    if (point === undefined || right === undefined) continue
    const path = point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    const isAbove = path === '/' || folder === path || folder.startsWith(`${path}/`)
    // Of two mounts at one path the later one hides the earlier.
    if (!isAbove || path.length < longest) continue
    longest = path.length
    type = right.split(' ', 1)[0]
  }
  return type
}
