"""How what is missing is started, in the words of all that says so."""

# While a stack runs, `./run up` alone only prints its addresses.
PLAY_HINT = "start one: ./run stop, then ./run up --nodes 1"
TORCH_HINT = "start one where torch is installed: ./run stop, then ./run up --nodes 1"
GPU_HINT = "start one: ./run stop, then ./run up --gpus 1"
