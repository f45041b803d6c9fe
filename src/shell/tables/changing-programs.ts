import { isCheck } from './checking-programs.ts'
import { each, type Program, plain, valuesOf } from './program.ts'

/** The files it writes are all that it does. */
const writes = (files: NonNullable<Program['writes']>, more: Program = {}): Program => ({
  ...more,
  writes: files,
  startsNothing: true,
})

/** Programs that change files. */
export const changingPrograms: Readonly<Record<string, Program>> = {
  touch: writes(plain, { changes: { short: 'acd:fhmt:', long: 'no-create date: no-dereference time:' } }),
  mkdir: writes(plain, { changes: { short: 'm:pv', long: 'mode: parents verbose' } }),
  rmdir: writes(plain, { changes: { short: 'pv', long: 'ignore-fail-on-non-empty parents verbose' } }),
  tee: writes(plain, { changes: { short: 'ai', long: 'append ignore-interrupts' } }),
  rm: writes(plain, { forgets: true }),
  ...each('unlink truncate shred mkfifo', writes(plain)),
  mv: writes((words) => [...plain(words), ...targetFolder(words)], {
    opens: plain,
    changes: { short: 'bfinTuv', long: 'backup? force interactive no-clobber no-target-directory update? verbose' },
  }),
  cp: writes(copied, {
    opens: plain,
    changes: {
      short: 'abdfHiLlnPpRrsTuvx',
      long: 'archive backup? dereference no-dereference force interactive link no-clobber preserve? no-preserve: recursive reflink? sparse: symbolic-link no-target-directory update? verbose one-file-system',
    },
  }),
  ln: writes(copied, {
    opens: plain,
    changes: {
      short: 'bfinPrsTv',
      long: 'backup? force interactive no-dereference physical relative symbolic no-target-directory verbose',
    },
  }),
  install: writes(copied, { opens: plain }),
  chmod: writes(afterMode, {
    changes: { short: 'cfRv', long: 'changes silent quiet recursive verbose preserve-root' },
  }),
  ...each('chown chgrp', writes(afterMode)),
  dd: writes((words) => operands('of=', words), { opens: (words) => operands('if=', words) }),
  mktemp: writes(somewhere),
  ...each(
    'patch zip gunzip split csplit wipefs fdisk parted mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.fat mkfs.vfat mke2fs',
    { writes: somewhere },
  ),
  ...Object.fromEntries(
    ['tar', 'unzip', 'gzip'].map((name) => [name, { writes: (words) => (isCheck(name, words) ? undefined : []) }]),
  ),
}

/** It writes, but its words do not say where. */
export function somewhere(): string[] {
  return []
}

/** The last word is the target, unless a flag names a folder. */
function copied(words: readonly string[]): string[] {
  return [...plain(words).slice(-1), ...targetFolder(words)]
}

/** `-t x`, `-atx`, `--target-directory=x`, and the last one shortened. */
function targetFolder(words: readonly string[]): string[] {
  return valuesOf(/^(-[a-zA-Z]*?t|--t[a-z-]*)/, words)
}

function afterMode(words: readonly string[]): string[] {
  return plain(words).slice(words.some((word) => word.startsWith('--reference')) ? 0 : 1)
}

function operands(name: string, words: readonly string[]): string[] {
  return words.filter((word) => word.startsWith(name)).map((word) => word.slice(name.length))
}
