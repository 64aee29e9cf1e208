"""What every game, policy and pairing must keep to: for the tests here and for plug-in authors."""
