import { join } from 'node:path'
import type { Io } from '../io.ts'

/** Where every command that runs an agent keeps its audit: a folder of files, one or more for each process. */
export const auditFolder = ({ home }: Pick<Io, 'home'>): string => join(home, 'audit')
