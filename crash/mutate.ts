import { mutants } from './mutants.ts'
import { plant } from './plant.ts'

// Loaded before a worker: adds a bug while the sources are loaded.
const name = process.env.LIBERO_CRASH_MUTANT
const mutant = mutants.find((one) => one.name === name)
if (!mutant) throw new Error(`There is no mutant "${name}"; crash/mutants.ts lists them`)
plant(mutant.patches)
