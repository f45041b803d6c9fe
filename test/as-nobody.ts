import { spawnSync } from 'node:child_process'

/** Whether a user without rights could run this Node: not where the project lies in a folder that is closed to others. */
export const nobodyCanRunNode: boolean =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('/bin/sh', ['-c', 'test -x "$0"', process.execPath], { uid: 65534, gid: 65534, cwd: '/' }).status === 0
