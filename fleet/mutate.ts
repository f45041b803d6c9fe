import { plant } from '../crash/plant.ts'
import { mutants } from './mutants.ts'

// Loaded before a worker: adds a bug while the sources are loaded. The files are not changed.
const name = process.env.LIBERO_FLEET_MUTANT
const mutant = mutants.find((one) => one.name === name)
if (!mutant) throw new Error(`There is no mutant "${name}"; fleet/mutants.ts lists them`)
plant(mutant.patches)
